import type { Container } from '#api/core/v1/types.gen.js';

/** The last table columns of most workloads: names and images of containers. */
export function containerCells(containers: readonly Container[] | undefined): [string, string] {
  const list = containers ?? [];
  return [list.map((container) => container.name).join(','), list.map((container) => container.image ?? '').join(',')];
}
