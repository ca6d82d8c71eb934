/** The options with which daemons were started, in files, so that `orch check` can judge them. */
import { readFileSync } from 'node:fs';
import type { Layout } from '#cluster/config/layout.js';
import { replaceFile } from '#cluster/process/replace-file.js';

/** Throws the file system's errors. */
export function recordArguments(layout: Layout, daemon: string, args: readonly string[]): void {
  replaceFile(layout.arguments(daemon), `${JSON.stringify(args, null, 2)}\n`);
}

/** Undefined for a daemon that was never started here. */
export function recordedArguments(layout: Layout, daemon: string): readonly string[] | undefined {
  try {
    return JSON.parse(readFileSync(layout.arguments(daemon), 'utf8')) as string[];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** Name of the record of a node's agent. */
export function agentRecord(node: string): string {
  return `nodeagent-${node}`;
}
