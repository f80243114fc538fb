// Applies the chosen theme before the first paint. Loaded separately, before the modules.
try {
  const theme = localStorage.getItem('windlass.theme');
  if (theme === 'light' || theme === 'dark') document.documentElement.dataset.theme = theme;
} catch {
  // No storage: use the system's theme.
}
