// Puts the chosen theme on before anything is drawn. Loaded by itself, ahead of the modules.
try {
  const theme = localStorage.getItem('windlass.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: the system's theme it is.
}
