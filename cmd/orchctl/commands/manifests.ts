/** Reads manifests from files, folders, URLs and standard input, in YAML or JSON with one or more objects per file. */

import { readdirSync, readFileSync, statSync } from 'node:fs';
import { extname, join } from 'node:path';
import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import { parseYAMLDocuments } from '#apimachinery/codec/yaml.js';
import { messageOf } from '#apimachinery/errors/message.js';
import type { ApiObject } from '#client/client.js';
import { noKind, type ResourceCatalog, type ServedResource, type Target } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { goJSON } from '#cmd/orchctl/print/json/go-json.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';

export interface Manifest {
  readonly object: ApiObject;
  readonly resource: ServedResource;
  /** Namespace to use; undefined for cluster-scoped objects. */
  readonly namespace: string | undefined;
  /** Its file, for messages. */
  readonly source: string;
}

/** Whether the objects come from files, or from a kustomization. */
export function readsFiles(values: Values): boolean {
  return values.strings('filename').length > 0 || (values.string('kustomize') ?? '') !== '';
}

const extensions = ['.json', '.yaml', '.yml'];

interface Document {
  readonly object: ApiObject;
  readonly source: string;
}

/** All objects of the `--filename` options, in order; lists are expanded. */
export async function readManifests(invocation: Invocation, catalog: ResourceCatalog): Promise<Manifest[]> {
  const documents = await readDocuments(invocation);
  return documents.map(({ object, source }) => place(object, source, invocation, catalog));
}

/** The objects without what the server knows of their kinds. */
async function readDocuments(invocation: Invocation): Promise<Document[]> {
  const { values } = invocation;
  const files = values.strings('filename');
  const recursive = values.bool('recursive');
  const kustomization = values.string('kustomize') ?? '';
  if (kustomization !== '') {
    if (files.length > 0) throw new CommandError('only one of -f or -k can be specified');
    if (recursive) throw new CommandError("the -k flag can't be used with -f or -R");
    // Imported on demand: it has the declarations of all kinds.
    const [{ runKustomization }, { inPrintOrder }] = await Promise.all([
      import('#cmd/orchctl/kustomize/run.js'),
      import('#cmd/orchctl/kustomize/order.js'),
    ]);
    const objects = inPrintOrder(await runKustomization(kustomization, invocation));
    return objects.map((object) => ({ object: object as unknown as ApiObject, source: kustomization }));
  }
  if (files.length === 0) throw new CommandError('must specify one of -f and -k');
  const documents: Document[] = [];
  for (const file of files.flatMap((path) => expand(path, recursive))) {
    const source = file === '-' ? 'STDIN' : file;
    const text = await textOf(file, invocation);
    documents.push(...parseManifests(text, source).map((object) => ({ object, source })));
  }
  return documents;
}

/** The objects in the files, as targets. */
export async function readTargets(invocation: Invocation, catalog: ResourceCatalog): Promise<Target[]> {
  const manifests = await readManifests(invocation, catalog);
  return manifests.map(({ resource, object }) => ({ resource, names: [object.metadata.name ?? ''] }));
}

async function textOf(file: string, { stdin, signal }: Invocation): Promise<string> {
  if (file === '-') return readAll(stdin);
  if (!isURL(file)) return withoutMark(readFileSync(file));
  const response = await fetch(file, { signal });
  if (response.ok) return response.text();
  const { status, statusText } = response;
  throw new CommandError(
    `unable to read URL ${JSON.stringify(file)}, server reported ${status} ${statusText}, status code=${status}`,
  );
}

function isURL(path: string): boolean {
  return path.startsWith('http://') || path.startsWith('https://');
}

/** UTF-16 has a byte order mark; without one it is UTF-8. */
function withoutMark(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return bytes.subarray(2).toString('utf16le');
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return Buffer.from(bytes.subarray(2)).swap16().toString('utf16le');
  return bytes.toString('utf8').replace(/^\ufeff/, '');
}

/** Parses a file's text. Throws a CommandError with file and position. */
export function parseManifests(text: string, source: string): ApiObject[] {
  let values: unknown[];
  try {
    // Parse like servers and other clients: `0755` is octal, `yes` is true.
    values = parseYAMLDocuments(text);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new CommandError(`error parsing ${source}: error converting YAML to JSON: ${messageOf(error)}`);
  }
  return values.filter((value) => value !== null && value !== undefined).flatMap((value) => unpack(value, source));
}

function unpack(value: unknown, source: string): ApiObject[] {
  const cannot = (why: string) => new CommandError(`unable to decode ${JSON.stringify(source)}: ${why}`);
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw cannot('expected an object with apiVersion, kind and metadata');
  }
  const object = value as Partial<ApiObject> & { items?: unknown[] };
  if (typeof object.kind !== 'string' || object.kind === '') {
    throw cannot(`Object 'Kind' is missing in '${goJSON(value)}'`);
  }
  if (typeof object.apiVersion !== 'string' || object.apiVersion === '') {
    throw cannot(`Object 'apiVersion' is missing in '${goJSON(value)}'`);
  }
  if (object.kind.endsWith('List') && Array.isArray(object.items)) {
    return object.items.flatMap((item) => unpack(item, source));
  }
  return [{ ...object, metadata: object.metadata ?? {} } as ApiObject];
}

function place(object: ApiObject, source: string, invocation: Invocation, catalog: ResourceCatalog): Manifest {
  const { apiVersion = '', kind = '', metadata } = object;
  const resource = catalog.all.find((each) => each.kind === kind && versionOf(each) === apiVersion);
  if (resource === undefined) {
    const { name = '', namespace = '' } = metadata;
    throw new CommandError(
      `resource mapping not found for name: ${JSON.stringify(name)} namespace: ${JSON.stringify(namespace)} from ${JSON.stringify(source)}: ${noKind(apiVersion, kind)}\nensure CRDs are installed first`,
    );
  }
  if (!resource.namespaced) return { object, resource, namespace: undefined, source };
  const own = metadata.namespace;
  if (own !== undefined && own !== '' && invocation.values.isSet('namespace') && own !== invocation.namespace) {
    throw new CommandError(
      `the namespace from the provided object ${JSON.stringify(own)} does not match the namespace ${JSON.stringify(invocation.namespace)}. You must pass '--namespace=${own}' to perform this operation.`,
    );
  }
  return { object, resource, namespace: own === undefined || own === '' ? invocation.namespace : own, source };
}

const versionOf = ({ group, version }: ServedResource) => (group === '' ? version : `${group}/${version}`);

/** The files of a path: itself, or those of a folder in the order of their names. */
function expand(path: string, recursive: boolean): string[] {
  if (path === '-' || isURL(path)) return [path];
  const missing = () => new CommandError(`the path ${JSON.stringify(path)} does not exist`);
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') throw missing();
    throw new CommandError(`the path ${JSON.stringify(path)} cannot be accessed: ${messageOf(error)}`);
  }
  if (!isFolder) return [path];
  const files = filesBelow(path, recursive);
  if (files.length === 0) {
    throw new CommandError(`error reading [${path}]: recognized file extensions are [${extensions.join(' ')}]`);
  }
  return files;
}

function filesBelow(folder: string, recursive: boolean): string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return recursive ? filesBelow(path, recursive) : [];
    return extensions.includes(extname(entry.name)) ? [path] : [];
  });
}

async function readAll(stream: NodeJS.ReadStream): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(typeof part === 'string' ? Buffer.from(part) : part);
  return withoutMark(Buffer.concat(parts));
}
