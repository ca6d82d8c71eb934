/** `diff`: what an apply of files would change. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { annotated } from '#cmd/orchctl/commands/applied.js';
import { applyPatch } from '#cmd/orchctl/commands/apply/three-way.js';
import { patchTypes } from '#cmd/orchctl/commands/change/patching.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { type Manifest, readManifests } from '#cmd/orchctl/commands/manifests.js';
import { matchesSelector } from '#cmd/orchctl/commands/matching.js';
import { filenameOptions, labelSelectorOption } from '#cmd/orchctl/commands/options.js';
import { scopeOf } from '#cmd/orchctl/commands/selection.js';
import { objectText, withoutManagedFields } from '#cmd/orchctl/print/object.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export const diff: Command = {
  name: 'diff',
  usage: '-f FILE',
  summary: 'Show what an apply of files would change; exit code 1: something, more than 1: it failed',
  examples: ['orchctl diff -f web.yaml', 'orchctl diff --server-side -f web/'],
  options: {
    ...filenameOptions,
    ...labelSelectorOption,
    'server-side': { type: 'bool', section: 'Writing', meaning: 'As apply --server-side would.' },
    'force-conflicts': {
      type: 'bool',
      section: 'Writing',
      meaning: 'With --server-side: as though conflicts were forced.',
    },
    'field-manager': { type: 'string', section: 'Writing', meaning: 'Name of the field manager, as for apply.' },
    'show-managed-fields': { type: 'bool', section: 'Output', meaning: 'Keep metadata.managedFields.' },
  },
  async run(invocation) {
    try {
      return await compare(invocation);
    } catch (error) {
      // 1 means that there are differences.
      if (error instanceof CommandError) throw new CommandError(error.message, Math.max(2, error.exitCode));
      throw error;
    }
  },
};

async function compare(invocation: Invocation): Promise<number> {
  const { api, values } = invocation;
  const manifests = await readManifests(invocation, await api.catalog());
  const folder = mkdtempSync(join(tmpdir(), 'orchctl-diff-'));
  const [live, merged] = ['LIVE', 'MERGED'].map((name) => join(folder, name)) as [string, string];
  try {
    mkdirSync(live);
    mkdirSync(merged);
    for (const manifest of manifests) {
      if (!matchesSelector(manifest.object, values.string('selector'))) continue;
      const before = await read(invocation, manifest);
      const after = await applied(invocation, manifest, before);
      const [shownBefore, shownAfter] = masked(before, after);
      const name = fileName(manifest);
      for (const [place, object] of [
        [live, shownBefore],
        [merged, shownAfter],
      ] as const) {
        if (object === undefined) continue;
        const shown = values.bool('show-managed-fields') ? object : withoutManagedFields(object);
        writeFileSync(join(place, name), objectText(shown, 'yaml'), { mode: 0o600 });
      }
    }
    return await runDiff(invocation, live, merged);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** `apps.v1.Deployment.shop.web`. */
function fileName({ resource, namespace = '', object }: Manifest): string {
  const { group, version, kind } = resource;
  const parts = [...(group === '' ? [] : [group]), version, kind, namespace, object.metadata.name ?? ''];
  return parts.join('.').replaceAll('/', '-');
}

async function read({ api }: Invocation, { object, resource, namespace }: Manifest): Promise<ApiObject | undefined> {
  try {
    return await api.json<ApiObject>('GET', objectPath(resource, object.metadata.name ?? '', scopeOf(namespace)));
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** The object as it would be. */
async function applied(
  { api, values }: Invocation,
  { object, resource, namespace }: Manifest,
  before: ApiObject | undefined,
): Promise<ApiObject> {
  const scope = scopeOf(namespace);
  const path = objectPath(resource, object.metadata.name ?? '', scope);
  const dryRun = 'All';
  if (values.bool('server-side')) {
    const query = {
      dryRun,
      fieldManager: values.string('field-manager') ?? 'orchctl',
      force: String(values.bool('force-conflicts')),
    };
    return api.json('PATCH', withQuery(path, query), object, { 'content-type': 'application/apply-patch+yaml' });
  }
  const query = { dryRun, fieldManager: values.string('field-manager') ?? 'orchctl-client-side-apply' };
  const { dialect } = await api.catalog();
  const placed = namespace === undefined ? object : { ...object, metadata: { ...object.metadata, namespace } };
  const desired = annotated(placed, dialect);
  if (before === undefined) return api.json('POST', withQuery(collectionPath(resource, scope), query), desired);
  const { body, type } = await applyPatch(desired, before, dialect);
  return api.json('PATCH', withQuery(path, query), body, { 'content-type': patchTypes[type] });
}

type Secret = ApiObject & { readonly data?: Readonly<Record<string, string>> };

/** Values of secrets are not shown; whether they change is. */
function masked(before: ApiObject | undefined, after: ApiObject): [ApiObject | undefined, ApiObject] {
  if (after.kind !== 'Secret' || after.apiVersion !== 'v1') return [before, after];
  const [old, changed] = [before as Secret | undefined, after as Secret];
  const hide = (object: Secret, other: Secret | undefined, word: string): ApiObject => {
    const data = Object.entries(object.data ?? {}).map(([key, value]) => {
      const isSame = other?.data?.[key] === value;
      return [key, other?.data?.[key] === undefined || isSame ? '***' : `*** (${word})`];
    });
    const { annotations, ...metadata } = object.metadata;
    // The annotation of apply has the values too.
    const shown = Object.fromEntries(
      Object.entries(annotations ?? {}).filter(([key]) => !key.endsWith('/last-applied-configuration')),
    );
    return { ...object, metadata: { ...metadata, annotations: shown }, data: Object.fromEntries(data) } as ApiObject;
  };
  return [old === undefined ? undefined : hide(old, changed, 'before'), hide(changed, old, 'after')];
}

/** The program of the environment, or `diff -u -N`. Its exit code: 1 means differences. */
function runDiff({ env, out, err }: Invocation, live: string, merged: string): Promise<number> {
  const own = env['ORCH_EXTERNAL_DIFF'] ?? env['KUBECTL_EXTERNAL_DIFF'] ?? '';
  const [program = 'diff', ...args] = own === '' ? ['diff', '-u', '-N'] : own.split(/\s+/);
  return new Promise((resolve, reject) => {
    const child = spawn(program, [...args, live, merged], { env: { ...env }, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', (part: Buffer) => out.write(part));
    child.stderr.on('data', (part: Buffer) => err.write(part));
    child.once('error', (error) =>
      reject(new CommandError(`failed to run ${JSON.stringify(program)}: ${error.message}`, 2)),
    );
    child.once('close', (code) => resolve(code ?? 2));
  });
}
