// Places the tasks of a goal in layers from left to right: every task is to the right of what leads to it. Has no
// side effects.

// Returns the ids of the tasks that lead to a task: its dependencies and its candidates.
export function linksTo(task, tasks) {
  return [...task.dependencies, ...tasks.filter((other) => other.candidate_of === task.id).map((other) => other.id)];
}

// Returns, for each task, its layer: the length of the longest path of links to it.
export function layers(tasks) {
  const known = new Map(tasks.map((task) => [task.id, task]));
  const links = new Map(tasks.map((task) => [task.id, linksTo(task, tasks)]));
  const depth = new Map();
  const visit = (task, path) => {
    if (depth.has(task.id)) return depth.get(task.id);
    // The store rejects cycles; one in the data must not hang the page.
    if (path.has(task.id)) return 0;
    path.add(task.id);
    const before = links.get(task.id).map((id) => known.get(id)).filter(Boolean);
    const value = before.length ? 1 + Math.max(...before.map((other) => visit(other, path))) : 0;
    path.delete(task.id);
    depth.set(task.id, value);
    return value;
  };
  for (const task of tasks) visit(task, new Set());
  return depth;
}

// Returns `{ nodes: [{ task, layer, row }], columns, rows }`. Within a layer, tasks are ordered by the mean row of
// what they depend on, which keeps most edges from crossing.
export function place(tasks) {
  const depth = layers(tasks);
  const columns = 1 + Math.max(0, ...depth.values());
  const rowOf = new Map();
  const nodes = [];
  for (let layer = 0; layer < columns; layer += 1) {
    const here = tasks.filter((task) => depth.get(task.id) === layer);
    const center = (task) => {
      const rows = linksTo(task, tasks).map((id) => rowOf.get(id)).filter((row) => row != null);
      return rows.length ? rows.reduce((sum, row) => sum + row, 0) / rows.length : Infinity;
    };
    here.sort((a, b) => (center(a) === center(b) ? a.id - b.id : center(a) - center(b)));
    here.forEach((task, row) => {
      rowOf.set(task.id, row);
      nodes.push({ task, layer, row });
    });
  }
  return { nodes, columns, rows: 1 + Math.max(0, ...rowOf.values()) };
}
