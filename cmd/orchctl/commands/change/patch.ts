/** `patch`: JSON, merge and strategic merge patches. */
import { readFileSync } from 'node:fs';
import { parseYAML } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { patchTypes, sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { dryRunOption, filenameOptions, managerOption } from '#cmd/orchctl/commands/options.js';
import { select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

const subresources = ['status', 'scale'];

export const patch: Command = {
  name: 'patch',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) (-p PATCH | --patch-file FILE)',
  summary: 'Change fields of objects by a patch',
  examples: [
    `orchctl patch deployment web -p '{"spec":{"replicas":3}}'`,
    `orchctl patch pod web-0 --type=json -p '[{"op":"remove","path":"/metadata/labels/tier"}]'`,
    `orchctl patch deployment web --subresource=scale --type=merge -p '{"spec":{"replicas":2}}'`,
  ],
  completes: 'objects',
  options: {
    ...filenameOptions,
    ...printOptions,
    ...dryRunOption,
    ...managerOption('orchctl-patch'),
    patch: { type: 'string', shorthand: 'p', section: 'Writing', meaning: 'The patch, in JSON or YAML.' },
    'patch-file': { type: 'string', section: 'Writing', meaning: 'File with the patch.' },
    type: {
      type: 'string',
      default: 'strategic',
      section: 'Writing',
      meaning: 'Type of the patch: json (RFC 6902), merge (RFC 7386) or strategic.',
    },
    subresource: { type: 'string', section: 'Writing', meaning: 'Patch this subresource: status or scale.' },
  },
  async run(invocation) {
    const { values } = invocation;
    const body = bodyOf(invocation);
    const type = (values.string('type') ?? '').toLowerCase() as keyof typeof patchTypes;
    if (!Object.hasOwn(patchTypes, type)) {
      const all = Object.keys(patchTypes).join(' ');
      throw new CommandError(`--type must be one of [${all}], not ${JSON.stringify(values.string('type'))}`);
    }
    const subresource = values.string('subresource');
    if (subresource !== undefined && !subresources.includes(subresource)) {
      throw new CommandError(
        `invalid subresource value: ${JSON.stringify(subresource)}. Must be one of [${subresources.join(' ')}]`,
      );
    }
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select(invocation, subresource === undefined ? {} : { subresource });
    const print = await resultPrinter(invocation, dryRun);
    const failures = [...errors];
    for (const info of infos) {
      try {
        // A patch is applied by the server; with `client` nothing is stored either.
        const tried = dryRun === 'client' ? 'server' : dryRun;
        const patched = await sendPatch(invocation, info, { type, body, dryRun: tried, subresource });
        print(patched, jsonEqual(patched, info.object) ? 'patched (no change)' : 'patched');
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    if (infos.length === 0) throw new CommandError('no objects passed to patch');
    return 0;
  },
};

/** Throws a CommandError. */
function bodyOf({ values }: Invocation): unknown {
  const written = values.string('patch') ?? '';
  const file = values.string('patch-file') ?? '';
  if (written !== '' && file !== '') throw new CommandError('cannot specify --patch and --patch-file together');
  if (written === '' && file === '') {
    throw new CommandError('must specify --patch or --patch-file containing the contents of the patch');
  }
  const text = file === '' ? written : readPatch(file);
  try {
    return parseYAML(text);
  } catch (error) {
    throw new CommandError(`unable to parse ${JSON.stringify(text)}: ${messageOf(error)}`);
  }
}

function readPatch(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? `open ${path}: no such file or directory` : messageOf(error);
    throw new CommandError(`unable to read patch file: ${why}`);
  }
}
