/** The objects that a command's arguments, files and selectors name, read from the server. */
import { isNotFound } from '#apimachinery/errors/status.js';
import type { ApiObject } from '#client/client.js';
import { objectPath, type Scope } from '#cmd/orchctl/api/api.js';
import { parseTargets, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { readManifests, readsFiles } from '#cmd/orchctl/commands/manifests.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

/** An object by its place, perhaps read. */
export interface Info {
  readonly resource: ServedResource;
  readonly name: string;
  readonly namespace: string | undefined;
  readonly object: ApiObject;
}

export interface Selected {
  readonly infos: readonly Info[];
  /** Of objects that could not be read. */
  readonly errors: readonly unknown[];
  /** Whether the command line names one object, rather than a list that may happen to have one. */
  readonly isSingle: boolean;
}

export interface SelectionSettings {
  /** Arguments that name objects. Default: all of the command. */
  readonly args?: readonly string[];
  /** Whether a type alone selects all of its objects; else it takes a name, a selector or --all. */
  readonly typeIsEnough?: boolean;
  /** Objects of files as they are in the files, instead of the server's. */
  readonly fromFiles?: boolean;
  readonly subresource?: string;
}

/** Throws a CommandError for arguments that name nothing; errors of single objects are collected. */
export async function select(invocation: Invocation, settings: SelectionSettings = {}): Promise<Selected> {
  const { args = invocation.args } = settings;
  if (!readsFiles(invocation.values)) return selectByArguments(invocation, args, settings);
  refuseArguments(args);
  return selectFiles(invocation, settings);
}

async function selectFiles(invocation: Invocation, settings: SelectionSettings): Promise<Selected> {
  const manifests = await readManifests(invocation, await invocation.api.catalog());
  const places = manifests.map((manifest) => ({ ...manifest, name: manifest.object.metadata.name ?? '' }));
  const isSingle = places.length === 1;
  if (settings.fromFiles === true) return { infos: places, errors: [], isSingle };
  return { ...(await readEach(invocation, places, settings.subresource)), isSingle };
}

async function selectByArguments(
  invocation: Invocation,
  args: readonly string[],
  { typeIsEnough = false, subresource }: SelectionSettings,
): Promise<Selected> {
  const { api, values, namespace } = invocation;
  const catalog = await api.catalog();
  const targets = parseTargets(catalog, args);
  const everywhere = values.bool('all-namespaces');
  const labelSelector = values.string('selector');
  const fieldSelector = values.string('field-selector');
  const selects = labelSelector !== undefined || fieldSelector !== undefined || values.bool('all');
  const names = targets.some((target) => target.names.length > 0);
  if (names && selects) {
    throw namesWithSelector(args);
  }
  if (!names) {
    if (!selects && !typeIsEnough) throw new CommandError('resource(s) were provided, but no name was specified');
    if (subresource !== undefined)
      throw new CommandError('subresource cannot be used when bulk resources are specified');
    const infos: Info[] = [];
    const errors: unknown[] = [];
    for (const { resource } of targets) {
      const scope = resource.namespaced && !everywhere ? { namespace } : {};
      try {
        const objects = await api.list(resource, scope, { labelSelector, fieldSelector }, limitOf(invocation));
        infos.push(...objects.map((object) => infoOf(resource, object)));
      } catch (error) {
        errors.push(error);
      }
    }
    return { infos, errors, isSingle: false };
  }
  const places = targets.flatMap(({ resource, names: each }) => {
    if (everywhere && resource.namespaced) {
      throw nameOfAllNamespaces();
    }
    return each.map((name) => ({ resource, name, namespace: resource.namespaced ? namespace : undefined }));
  });
  return { ...(await readEach(invocation, places, subresource)), isSingle: places.length === 1 };
}

function infoOf(resource: ServedResource, object: ApiObject): Info {
  const { name = '', namespace } = object.metadata;
  return { resource, name, namespace: resource.namespaced ? namespace : undefined, object };
}

/** Objects of one page of a list; 0: all in one. */
export function limitOf({ values }: Invocation): number | undefined {
  return values.isSet('chunk-size') ? values.number('chunk-size') : undefined;
}

async function readEach(
  invocation: Invocation,
  places: readonly Omit<Info, 'object'>[],
  subresource: string | undefined,
): Promise<Pick<Selected, 'infos' | 'errors'>> {
  const infos: Info[] = [];
  const errors: unknown[] = [];
  for (const place of places) {
    try {
      infos.push({ ...place, object: await readObject(invocation, place, subresource) });
    } catch (error) {
      errors.push(error);
    }
  }
  return { infos, errors };
}

/** The object. Where its namespace is missing too, the error is that of the namespace. */
async function readObject(
  { api }: Invocation,
  { resource, name, namespace }: Omit<Info, 'object'>,
  subresource?: string,
): Promise<ApiObject> {
  try {
    return await api.json<ApiObject>('GET', objectPath(resource, name, scopeOf(namespace), subresource));
  } catch (error) {
    throw await sharperError({ api }, error, namespace);
  }
}

/** The error of the missing namespace, for an object that is missing with it. */
export async function sharperError(
  { api }: Pick<Invocation, 'api'>,
  error: unknown,
  namespace: string | undefined,
): Promise<unknown> {
  if (!isNotFound(error) || namespace === undefined || namespace === 'default') return error;
  try {
    await api.json('GET', `/api/v1/namespaces/${encodeURIComponent(namespace)}`);
    return error;
  } catch (cause) {
    return isNotFound(cause) ? cause : error;
  }
}

export function scopeOf(namespace: string | undefined): Scope {
  return namespace === undefined ? {} : { namespace };
}

/** Refuses arguments of a command that reads its objects from files. */
export function refuseArguments(args: readonly string[]): void {
  if (args.length === 0) return;
  throw new CommandError(
    'when paths, URLs, or stdin is provided as input, you may not specify resource arguments as well',
  );
}

/** The refusal of names beside a selector or --all. */
export function namesWithSelector(args: readonly string[]): CommandError {
  return new CommandError(
    args.some((arg) => arg.includes('/'))
      ? 'selectors and the all flag cannot be used when passing resource/name arguments'
      : 'name cannot be provided when a selector is specified',
  );
}

/** The refusal of the name of a namespaced object with --all-namespaces. */
export function nameOfAllNamespaces(): CommandError {
  return new CommandError('a resource cannot be retrieved by name across all namespaces');
}
