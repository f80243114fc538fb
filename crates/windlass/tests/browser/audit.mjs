// Whether a page can be read by everybody: contrast, names, landmarks, width. Runs inside the page.

export function audit() {
  const problems = [];
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

  // Any colour that CSS knows, as numbers.
  const paint = (layers) => {
    canvas.clearRect(0, 0, 1, 1);
    for (const layer of layers) {
      canvas.fillStyle = layer;
      canvas.fillRect(0, 0, 1, 1);
    }
    return [...canvas.getImageData(0, 0, 1, 1).data];
  };
  const luminance = ([r, g, b]) => {
    const [x, y, z] = [r, g, b].map((part) => part / 255).map((part) => (part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * x + 0.7152 * y + 0.0722 * z;
  };
  const behind = (node) => {
    const layers = [];
    for (let at = node; at; at = at.parentElement) layers.unshift(getComputedStyle(at).backgroundColor);
    return layers;
  };
  const shown = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && node.getClientRects().length > 0;

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !shown(node) || node.closest(':disabled, .spoken, noscript, option')) continue;
    const style = getComputedStyle(node);
    const under = behind(node);
    const [ground, ink] = [luminance(paint(under)), luminance(paint([...under, style.color]))];
    const ratio = (Math.max(ground, ink) + 0.05) / (Math.min(ground, ink) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
  }
  for (const node of document.querySelectorAll('input, select, textarea')) {
    if (shown(node) && !node.labels?.length && !node.getAttribute('aria-label')) problems.push(`no label: ${node.name || node.className}`);
  }
  for (const node of document.querySelectorAll('button, a[href]')) {
    if (shown(node) && !node.textContent.trim() && !node.getAttribute('aria-label')) problems.push(`no name: ${node.className}`);
  }
  const count = (what, wanted) => {
    const found = [...document.querySelectorAll(what)].filter(shown).length;
    if (found !== wanted) problems.push(`${found} ${what}, not ${wanted}`);
  };
  count('main', 1);
  count('nav', 1);
  count('h1', 1);
  if (document.querySelectorAll('[style*=":"]:not([style^="--"])').length) problems.push('a style attribute that is more than a measure');
  if (document.documentElement.scrollWidth > window.innerWidth) problems.push(`wider than the screen: ${document.documentElement.scrollWidth} > ${window.innerWidth}`);
  return problems;
}
