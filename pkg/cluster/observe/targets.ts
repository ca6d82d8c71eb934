/**
 * Addresses of the metrics of daemons with their own port, in files that Prometheus reads again when they change (`file_sd`):
 * a port may change at the next start.
 */
import { mkdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import type { Layout } from '#cluster/config/layout.js';
import { replaceFile } from '#cluster/process/replace-file.js';

export type TargetOf = 'etcd' | 'controller-manager' | 'scheduler' | 'ingress';

export function targetFile(layout: Layout, part: TargetOf): string {
  return join(folderOf(layout), `${part}.json`);
}

const folderOf = ({ run }: Layout): string => join(run, 'targets');

/** Removes the files of the last start, whose daemons may run in one process now. */
export function clearTargets(layout: Layout): void {
  rmSync(folderOf(layout), { recursive: true, force: true });
}

/** @param address `host:port`. */
export function writeTarget(layout: Layout, part: TargetOf, address: string): void {
  mkdirSync(folderOf(layout), { recursive: true });
  replaceFile(targetFile(layout, part), targetText([{ targets: [address] }]));
}

export interface TargetGroup {
  /** `host:port`. */
  readonly targets: readonly string[];
  readonly labels?: Readonly<Record<string, string>>;
}

export function targetText(groups: readonly TargetGroup[]): string {
  return `${JSON.stringify(groups, null, 2)}\n`;
}
