// Accessibility audit: contrast, labels, landmarks and width. Runs inside the page.

export function audit() {
  const problems = [];
  const canvas = document.createElement('canvas').getContext('2d', { willReadFrequently: true });

  // Blends CSS colors and returns the result as RGBA numbers.
  const blend = (layers) => {
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
  const backgrounds = (node) => {
    const layers = [];
    for (let element = node; element; element = element.parentElement) layers.unshift(getComputedStyle(element).backgroundColor);
    return layers;
  };
  const isShown = (node) => node.checkVisibility({ opacityProperty: true, visibilityProperty: true }) && node.getClientRects().length > 0;

  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let text = walker.nextNode(); text; text = walker.nextNode()) {
    const node = text.parentElement;
    if (!text.data.trim() || !isShown(node) || node.closest(':disabled, .sr-only, noscript, option')) continue;
    const style = getComputedStyle(node);
    const layersBelow = backgrounds(node);
    const [background, foreground] = [luminance(blend(layersBelow)), luminance(blend([...layersBelow, style.color]))];
    const ratio = (Math.max(background, foreground) + 0.05) / (Math.min(background, foreground) + 0.05);
    const size = parseFloat(style.fontSize);
    const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
    if (ratio < (large ? 3 : 4.5)) problems.push(`contrast ${ratio.toFixed(2)}: ${text.data.trim().slice(0, 40)}`);
  }
  for (const node of document.querySelectorAll('input, select, textarea')) {
    if (isShown(node) && !node.labels?.length && !node.getAttribute('aria-label')) problems.push(`no label: ${node.name || node.className}`);
  }
  for (const node of document.querySelectorAll('button, a[href]')) {
    if (isShown(node) && !node.textContent.trim() && !node.getAttribute('aria-label')) problems.push(`no name: ${node.className}`);
  }
  const expectCount = (selector, expected) => {
    const found = [...document.querySelectorAll(selector)].filter(isShown).length;
    if (found !== expected) problems.push(`${found} ${selector}, not ${expected}`);
  };
  expectCount('main', 1);
  expectCount('nav', 1);
  expectCount('h1', 1);
  if (document.querySelectorAll('[style*=":"]:not([style^="--"])').length) problems.push('a style attribute sets more than custom properties');
  if (document.documentElement.scrollWidth > window.innerWidth) problems.push(`wider than the screen: ${document.documentElement.scrollWidth} > ${window.innerWidth}`);
  return problems;
}
