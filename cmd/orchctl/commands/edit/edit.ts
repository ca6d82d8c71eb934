/** `edit`: objects in the user's editor. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isJsonObject, type JsonObject } from '#apimachinery/codec/json/walk.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { StatusError, statusOf } from '#apimachinery/errors/status.js';
import { jsonEqual } from '#apimachinery/patch/json-values.js';
import { mergeRulesOf, plainRules, strategicDiff } from '#apimachinery/patch/strategic-diff.js';
import type { ApiObject } from '#client/client.js';
import { annotated } from '#cmd/orchctl/commands/applied.js';
import { sendPatch } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import { runEditor } from '#cmd/orchctl/commands/edit/editor.js';
import { parseManifests } from '#cmd/orchctl/commands/manifests.js';
import { filenameOptions, managerOption } from '#cmd/orchctl/commands/options.js';
import { type Info, select } from '#cmd/orchctl/commands/selection.js';
import { resultPrinter } from '#cmd/orchctl/commands/writing.js';
import { asList, objectText, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

export const edit: Command = {
  name: 'edit',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE)',
  summary: 'Edit objects in your editor',
  examples: [
    'orchctl edit deployment web',
    'EDITOR=nano orchctl edit configmap colors',
    'orchctl edit service web -o json',
  ],
  completes: 'objects',
  options: {
    ...filenameOptions,
    ...managerOption('orchctl-edit'),
    ...saveConfigOption,
    output: { type: 'string', shorthand: 'o', oneOf: ['yaml', 'json'], section: 'Output', meaning: 'Format to edit.' },
    'show-managed-fields': { type: 'bool', section: 'Output', meaning: 'Keep metadata.managedFields.' },
    'output-patch': { type: 'bool', section: 'Output', meaning: 'Print the patch that was sent.' },
  },
  async run(invocation) {
    const { infos, errors } = await select(invocation, { typeIsEnough: false });
    throwAll(errors);
    if (infos.length === 0) {
      invocation.out.write('edit cancelled, no objects found\n');
      return 0;
    }
    const folder = mkdtempSync(join(tmpdir(), 'orchctl-edit-'));
    let keeps = false;
    try {
      return await editInFolder(invocation, infos, folder);
    } catch (error) {
      // What the user wrote is worth more than a clean folder.
      keeps = error instanceof StatusError || error instanceof CommandError;
      if (keeps)
        invocation.err.write(
          `A copy of your changes has been stored to ${JSON.stringify(join(folder, nameOf(invocation)))}\n`,
        );
      throw error;
    } finally {
      if (!keeps) rmSync(folder, { recursive: true, force: true });
    }
  },
};

const nameOf = ({ values }: Invocation) => (values.string('output') === 'json' ? 'objects.json' : 'objects.yaml');

async function editInFolder(invocation: Invocation, infos: readonly Info[], folder: string): Promise<number> {
  const { err, values } = invocation;
  const form = values.string('output') === 'json' ? 'json' : 'yaml';
  const path = join(folder, nameOf(invocation));
  const shown = infos.map(({ object }) => (values.bool('show-managed-fields') ? object : withoutManagedFields(object)));
  const original = objectText(shown.length === 1 ? shown[0] : asList(shown), form);
  let text = original;
  let faults: readonly string[] = [];
  for (;;) {
    const before = form === 'json' ? text : `${heading(faults)}${text}`;
    writeFileSync(path, before, { mode: 0o600 });
    await runEditor(path, invocation);
    const written = readFileSync(path, 'utf8');
    const content = withoutComments(written);
    if (content.trim() === '') {
      err.write('Edit cancelled, saved file was empty.\n');
      return faults.length === 0 ? 0 : 1;
    }
    if (content.trimEnd() === withoutComments(before).trimEnd()) {
      if (faults.length > 0) throw new CommandError('Edit cancelled, no valid changes were saved.');
      err.write('Edit cancelled, no changes made.\n');
      return 0;
    }
    text = form === 'json' ? written : content;
    const outcome = await tried(invocation, infos, shown, text);
    if (outcome === undefined) return 0;
    for (const fault of outcome) err.write(`${fault}\n`);
    faults = outcome;
  }
}

/** The faults of the edited text; undefined if it was sent. */
async function tried(
  invocation: Invocation,
  infos: readonly Info[],
  shown: readonly ApiObject[],
  text: string,
): Promise<readonly string[] | undefined> {
  let edited: ApiObject[];
  try {
    edited = parseManifests(text, 'the edited file');
  } catch (error) {
    return [`The edited file had a syntax error: ${messageOf(error)}`];
  }
  const faults: string[] = [];
  const print = await resultPrinter({ ...invocation, values: invocation.values }, 'none');
  for (const object of edited) {
    const at = infos.findIndex(
      ({ object: other, name }) => other.kind === object.kind && object.metadata.name === name,
    );
    const info = infos[at];
    const before = shown[at];
    if (info === undefined || before === undefined) {
      faults.push(`${object.kind ?? ''} ${object.metadata.name ?? ''}: name and kind cannot be changed`);
      continue;
    }
    if (jsonEqual(before, object)) {
      invocation.err.write(`${info.resource.resource}/${info.name} skipped\n`);
      continue;
    }
    try {
      await send(invocation, info, { before, object });
      print(info.object, 'edited');
    } catch (error) {
      faults.push(...faultsOf(error, info));
    }
  }
  return faults.length === 0 ? undefined : faults;
}

async function send(
  invocation: Invocation,
  info: Info,
  { before, object }: { readonly before: ApiObject; readonly object: ApiObject },
): Promise<void> {
  const { dialect } = await invocation.api.catalog();
  const { schemeFor } = await import('#api/scheme.js');
  const kind = schemeFor(dialect).kind(object.apiVersion ?? '', object.kind ?? '');
  const { lastApplied } = dialect.annotations;
  // The annotation of apply follows what is edited, where there is one.
  const follows = invocation.values.bool('save-config') || object.metadata.annotations?.[lastApplied] !== undefined;
  const changed =
    follows && object.metadata.annotations?.[lastApplied] !== undefined ? annotated(object, dialect) : object;
  const plain = (each: ApiObject) => each as unknown as JsonObject;
  const body = strategicDiff(
    plain(before),
    plain(changed),
    plain(before),
    kind === undefined ? plainRules : mergeRulesOf(kind.type),
  );
  if (invocation.values.bool('output-patch')) invocation.out.write(`Patch: ${JSON.stringify(body)}\n`);
  if (!isJsonObject(body)) return;
  await sendPatch(invocation, info, { type: kind === undefined ? 'merge' : 'strategic', body, dryRun: 'none' });
}

function faultsOf(error: unknown, { resource, name }: Info): string[] {
  if (!(error instanceof StatusError)) throw error;
  const status = statusOf(error);
  const type = resource.group === '' ? resource.resource : `${resource.resource}.${resource.group}`;
  const causes = status?.details?.causes ?? [];
  if (causes.length > 0) {
    return [
      `${type} ${JSON.stringify(name)} was not valid:`,
      ...causes.map(({ field = '', message = '' }) => ` * ${field}: ${message}`),
    ];
  }
  return [`${type} ${JSON.stringify(name)} could not be patched: ${messageOf(error)}`];
}

function heading(faults: readonly string[]): string {
  const lines = [
    "Please edit the object below. Lines beginning with a '#' will be ignored,",
    'and an empty file will abort the edit. If an error occurs while saving this file will be',
    'reopened with the relevant failures.',
    '',
    ...faults.flatMap((fault) => fault.split('\n')),
    ...(faults.length > 0 ? [''] : []),
  ];
  return lines.map((line) => `${`# ${line}`.trimEnd()}\n`).join('');
}

function withoutComments(text: string): string {
  return text
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .join('\n');
}
