import type { Container } from '#api/core/v1/types.gen.js';

/** Names and images of containers, each as one list: the last columns of most workloads. */
export function containerCells(containers: readonly Container[] | undefined): [string, string] {
  const list = containers ?? [];
  return [list.map((container) => container.name).join(','), list.map((container) => container.image ?? '').join(',')];
}
