// The icons: stroke paths on a 24×24 grid.

const PATHS = {
  board: 'M4 5h4v14H4zM10 5h4v9h-4zM16 5h4v11h-4z',
  inbox: 'M4 13l2.5-8h11L20 13v6H4zM4 13h5l1.2 2.5h3.6L15 13h5',
  agents: 'M7 9h10v8H7zM12 9V5.5M12 5.5a.6.6 0 1 0 0-.1M4.5 12v3M19.5 12v3M10 12.5v.5M14 12.5v.5',
  traces: 'M4 6h9M7 11h10M11 16h9M4 3v18',
  usage: 'M4 19h16M7 19v-6M12 19V6M17 19v-9',
  plus: 'M12 5v14M5 12h14',
  check: 'M5 12.5l4.5 4.5L19 7.5',
  cross: 'M6 6l12 12M18 6L6 18',
  clock: 'M12 7v5l3 2M12 3.5a8.5 8.5 0 1 0 .1 0',
  question: 'M9.2 9a2.8 2.8 0 1 1 4.2 2.4c-.9.6-1.4 1.1-1.4 2.1M12 16.6v.1M12 3.5a8.5 8.5 0 1 0 .1 0',
  shield: 'M12 3.5l7 2.6v5.2c0 4.4-2.9 7.5-7 9.2-4.1-1.7-7-4.8-7-9.2V6.1z',
  seal: 'M8.8 12.2l2.2 2.2 4.2-4.6M12 3.2l2.2 1.7 2.8-.2.7 2.7 2.2 1.6-1 2.6 1 2.7-2.2 1.5-.7 2.7-2.8-.1L12 20.2l-2.2-1.8-2.8.1-.7-2.7-2.2-1.5 1-2.7-1-2.6 2.2-1.6.7-2.7 2.8.2z',
  warn: 'M12 9.5v4M12 16.6v.1M12 4.2L3.6 19h16.8z',
  tool: 'M14.5 6.5a3.8 3.8 0 0 1 4.9-.9l-2.6 2.6 1 2 2 .9 1-1a3.8 3.8 0 0 1-5.7 3.3l-6 6a1.7 1.7 0 0 1-2.5-2.5l6-6a3.8 3.8 0 0 1 1.9-4.4z',
  text: 'M5 6h14M5 11h14M5 16h8',
  thought: 'M7.5 15.5a4.5 4.5 0 0 1 .3-9 5 5 0 0 1 9 1.6 3.7 3.7 0 0 1-.6 7.4zM8.5 18.6v.1M6 21v.1',
  flask: 'M9.5 4h5M10.5 4v5.5L5.6 18a1.4 1.4 0 0 0 1.2 2h10.4a1.4 1.4 0 0 0 1.2-2l-4.9-8.5V4M8 15h8',
  retry: 'M5 12a7 7 0 1 1 2.2 5.1M5 18.5v-4h4',
  merge: 'M7 4v9a4 4 0 0 0 4 4h6M14 14l3 3-3 3M7 4L4.5 6.5M7 4l2.5 2.5',
  stop: 'M12 3.5a8.5 8.5 0 1 0 .1 0M9 9h6v6H9z',
  list: 'M9 6h11M9 12h11M9 18h11M4.5 6v.1M4.5 12v.1M4.5 18v.1',
  sun: 'M12 8a4 4 0 1 0 .1 0M12 2.5v2M12 19.5v2M2.5 12h2M19.5 12h2M5.3 5.3l1.4 1.4M17.3 17.3l1.4 1.4M5.3 18.7l1.4-1.4M17.3 6.7l1.4-1.4',
  moon: 'M19.5 14.5A8 8 0 0 1 9.5 4.5a8 8 0 1 0 10 10z',
  system: 'M4 5h16v11H4zM9 20h6M12 16v4',
  keyboard: 'M3.5 7h17v10h-17zM7 10.5v.1M10.5 10.5v.1M14 10.5v.1M17 10.5v.1M8.5 14h7',
  file: 'M7 3.5h7l4 4v13H7zM14 3.5v4h4',
  chevron: 'M9 6l6 6-6 6',
  back: 'M15 6l-6 6 6 6',
  branch: 'M7 6.5v11M7 6.5a1.5 1.5 0 1 0-.1 0M7 20.5a1.5 1.5 0 1 0-.1 0M17 9.5a1.5 1.5 0 1 0-.1 0M17 9.5c0 4-4 4.5-9.5 5.5',
  graph: 'M5 12a2 2 0 1 0 .1 0M19 5a2 2 0 1 0 .1 0M19 15a2 2 0 1 0 .1 0M7 13.2l10-4.6M7 14.4l10 2.2',
  pause: 'M8 5v14M16 5v14',
  play: 'M7 5l12 7-12 7z',
  edit: 'M4.5 19.5l1-4L16 5l3 3L8.5 18.5zM14 7l3 3',
  comment: 'M4 5h16v11h-9l-4 3.5V16H4z',
  eye: 'M2.5 12C5 7.5 8.3 5.5 12 5.5s7 2 9.5 6.5c-2.5 4.5-5.8 6.5-9.5 6.5S5 16.5 2.5 12zM12 9.5a2.5 2.5 0 1 0 .1 0',
  split: 'M4 5h16v14H4zM12 5v14',
  folder: 'M3.5 6h6l2 2.5h9V19h-17z',
  land: 'M12 4v11M7.5 10.5L12 15l4.5-4.5M5 20h14',
  signOut: 'M14 4.5H6v15h8M10.5 12H20M16.5 8.5L20 12l-3.5 3.5',
  anchor: 'M12 7.5v13M12 7.5a2 2 0 1 0-.1 0M8.5 11h7M4.5 13.5c0 4 3.5 7 7.5 7s7.5-3 7.5-7',
};

const SVG = 'http://www.w3.org/2000/svg';

export function icon(name) {
  const svg = document.createElementNS(SVG, 'svg');
  svg.setAttribute('viewBox', '0 0 24 24');
  svg.setAttribute('class', 'icon');
  svg.setAttribute('aria-hidden', 'true');
  const path = document.createElementNS(SVG, 'path');
  path.setAttribute('d', PATHS[name] ?? PATHS.list);
  svg.append(path);
  return svg;
}
