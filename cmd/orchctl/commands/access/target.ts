/** What a command about access asks for: `VERB TYPE`, `VERB TYPE/NAME` or `VERB /path`. */
import type { AuthorizationAttributes } from '#apiserver/authorization/authorizer.js';
import type { ResourceCatalog, ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';
import type { OptionTable } from '#daemon/options/option.js';

export const subresourceOption = {
  subresource: { type: 'string', section: 'Request', meaning: 'Subresource, such as `log` or `scale`.' },
} as const satisfies OptionTable;

/** A request without its user. */
export type AccessTarget = Omit<AuthorizationAttributes, 'user'>;

export interface ParsedTarget {
  readonly target: AccessTarget;
  /** What is unusual about the request, for the error stream. */
  readonly warnings: readonly string[];
}

const resourceVerbs = [
  ...['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection'],
  ...['use', 'bind', 'impersonate', '*'],
];
const pathVerbs = ['get', 'put', 'post', 'head', 'options', 'delete', 'patch', '*'];

/** `namespace`: empty for all namespaces. Throws UsageError. Unknown types are taken as they are, with a warning. */
export async function targetOf(
  invocation: Invocation,
  args: readonly string[],
  namespace: string,
): Promise<ParsedTarget> {
  const [verb = '', what = ''] = args;
  const subresource = invocation.values.string('subresource') ?? '';
  if (verb === '' || what === '' || args.length !== 2) {
    throw new UsageError('you must specify two arguments: verb resource or verb resource/resourceName.');
  }
  const empty = { verb, version: '', group: '', resource: '', subresource: '', namespace: '', name: '', path: '' };
  if (what.startsWith('/')) {
    if (subresource !== '') throw new UsageError('--subresource can not be used with NonResourceURL');
    return { target: { ...empty, resourceRequest: false, path: what }, warnings: verbWarnings(verb, pathVerbs) };
  }
  const slash = what.indexOf('/');
  const type = slash < 0 ? what : what.slice(0, slash);
  const name = slash < 0 ? '' : what.slice(slash + 1);
  const { group, resource, warnings, namespaced } = resourceOf(await invocation.api.catalog(), type);
  const target = { ...empty, resourceRequest: true, group, resource, subresource, namespace, name };
  const scope = namespaced === false && namespace !== '' ? [unscoped(group, resource)] : [];
  return { target, warnings: [...warnings, ...scope, ...verbWarnings(verb, resourceVerbs)] };
}

interface NamedResource extends Pick<ServedResource, 'group' | 'resource'> {
  /** Undefined for a type that the server does not serve. */
  readonly namespaced: boolean | undefined;
  readonly warnings: readonly string[];
}

function resourceOf(catalog: ResourceCatalog, type: string): NamedResource {
  if (type === '*') return { group: '*', resource: '*', namespaced: undefined, warnings: [] };
  try {
    const { group, resource, namespaced } = catalog.one(type);
    return { group, resource, namespaced, warnings: [] };
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    const dot = type.indexOf('.');
    const resource = dot < 0 ? type : type.slice(0, dot);
    const group = dot < 0 ? '' : type.slice(dot + 1);
    const place = group === '' ? '' : ` in group '${group}'`;
    const warning = `the server doesn't have a resource type '${resource}'${place}`;
    return { group, resource, namespaced: undefined, warnings: [warning] };
  }
}

function unscoped(group: string, resource: string): string {
  const place = group === '' ? '' : ` in group '${group}'`;
  return `resource '${resource}' is not namespace scoped${place}`;
}

function verbWarnings(verb: string, verbs: readonly string[]): string[] {
  return verbs.includes(verb) ? [] : [`verb '${verb}' is not a known verb`];
}

/** `delete pods web --subresource log in the namespace ns`, for sentences. */
export function targetText(target: AccessTarget): string {
  const { resourceRequest, verb, group, resource, subresource, namespace, name, path } = target;
  if (!resourceRequest) return `${verb} ${path}`;
  const type = `${resource}${group === '' || group === '*' ? '' : `.${group}`}${subresource === '' ? '' : `/${subresource}`}`;
  const object = name === '' ? type : `${type} ${name}`;
  return `${verb} ${object} ${namespace === '' ? 'in the whole cluster' : `in the namespace ${namespace}`}`;
}
