/** Plans and rules in files, for the endpoints of test clusters. */
import { readFile } from 'node:fs/promises';
import { text } from 'node:stream/consumers';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { statusOf } from '#apimachinery/errors/status.js';
import type { Api } from '#cmd/orchctl/api/api.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

export const fileOption = {
  filename: {
    type: 'string',
    shorthand: 'f',
    section: 'Input',
    meaning: 'File in YAML or JSON; `-` reads standard input.',
  },
} as const satisfies OptionTable;

/** The value in the file of `--filename`. Throws UsageError without one, CommandError if it cannot be read. */
export async function readPlan({ values, stdin, args }: Invocation): Promise<unknown> {
  const file = values.string('filename');
  if (file === undefined || args.length > 0) throw new UsageError('name the file by -f FILE');
  try {
    return parseYAML(file === '-' ? await text(stdin) : await readFile(file, 'utf8')) ?? {};
  } catch (error) {
    throw new CommandError(`cannot read ${file}: ${messageOf(error)}`);
  }
}

/** Calls an endpoint below `/test`. Throws CommandError where the cluster has none. */
export async function callTest<R>(api: Api, method: string, path: string, body?: unknown): Promise<R> {
  try {
    return await api.json<R>(method, path, body, body === undefined ? {} : { 'content-type': 'application/json' });
  } catch (error) {
    if (statusOf(error)?.code !== 404) throw error;
    throw new CommandError('this cluster was not started for tests: it has no endpoints below /test');
  }
}
