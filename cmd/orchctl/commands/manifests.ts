/** Reads manifests from files, folders and standard input, in YAML or JSON with one or more objects per file. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseYAMLDocuments } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import type { ResourceCatalog, ServedResource, Target } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export interface Manifest {
  readonly object: ApiObject;
  readonly resource: ServedResource;
  /** Namespace to use; undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** Its file, for messages. */
  readonly source: string;
}

const extensions = ['.yaml', '.yml', '.json'];

/** All objects of the `--filename` options, in order; lists are expanded. */
export async function readManifests(invocation: Invocation, catalog: ResourceCatalog): Promise<Manifest[]> {
  const files = invocation.values.strings('filename');
  if (files.length === 0) throw new UsageError('name a file: -f FILE');
  const manifests: Manifest[] = [];
  for (const file of files.flatMap(expand)) {
    const text = file === '-' ? await readAll(invocation.stdin) : readFileSync(file, 'utf8');
    for (const object of parseManifests(text, file)) manifests.push(place(object, file, invocation, catalog));
  }
  if (manifests.length === 0) throw new CommandError(`no objects in ${files.join(', ')}`);
  return manifests;
}

/** The objects in the files, as targets. */
export async function readTargets(invocation: Invocation, catalog: ResourceCatalog): Promise<Target[]> {
  const manifests = await readManifests(invocation, catalog);
  return manifests.map(({ resource, object }) => ({ resource, names: [object.metadata.name ?? ''] }));
}

/** Parses a file's text. Throws a CommandError with file and position. */
export function parseManifests(text: string, source: string): ApiObject[] {
  let values: unknown[];
  try {
    // Parse like servers and other clients: `0755` is octal, `yes` is true.
    values = parseYAMLDocuments(text);
  } catch (error) {
    throw new CommandError(`${source}: ${messageOf(error)}`);
  }
  return values.filter((value) => value !== null && value !== undefined).flatMap((value) => unpack(value, source));
}

function unpack(value: unknown, source: string): ApiObject[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new CommandError(`${source}: expected an object with apiVersion, kind and metadata`);
  }
  const object = value as Partial<ApiObject> & { items?: unknown[] };
  if (typeof object.kind !== 'string' || object.kind === '') throw new CommandError(`${source}: kind is not set`);
  if (typeof object.apiVersion !== 'string' || object.apiVersion === '') {
    throw new CommandError(`${source}: apiVersion is not set`);
  }
  if (object.kind.endsWith('List') && Array.isArray(object.items)) {
    return object.items.flatMap((item) => unpack(item, source));
  }
  return [{ ...object, metadata: object.metadata ?? {} } as ApiObject];
}

function place(object: ApiObject, source: string, invocation: Invocation, catalog: ResourceCatalog): Manifest {
  const resource = catalog.byKind(object.apiVersion ?? '', object.kind ?? '');
  if (!resource.namespaced) return { object, resource, namespace: undefined, source };
  const objectNamespace = object.metadata.namespace;
  if (
    objectNamespace !== undefined &&
    invocation.values.isSet('namespace') &&
    objectNamespace !== invocation.namespace
  ) {
    throw new CommandError(
      `${source}: the object's namespace is "${objectNamespace}", but -n is "${invocation.namespace}": omit one of them`,
    );
  }
  return { object, resource, namespace: objectNamespace ?? invocation.namespace, source };
}

function expand(path: string): string[] {
  if (path === '-') return [path];
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    throw new CommandError(`cannot read ${path}: ${messageOf(error)}`);
  }
  if (!isFolder) return [path];
  return readdirSync(path)
    .filter((name) => extensions.some((extension) => name.endsWith(extension)))
    .sort()
    .map((name) => join(path, name));
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
  return Buffer.concat(parts).toString('utf8');
}
