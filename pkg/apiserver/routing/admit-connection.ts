/** Admission of connections (`exec`, `attach`, `portforward`, `proxy`). */
import type { ApiObjectShape } from '#api/meta/object.js';
import type { Draft } from '#apimachinery/draft.js';
import type { RequestContext } from '#apiserver/http/request-context.js';
import { flag } from '#apiserver/http/request-info.js';
import { runAdmission } from '#apiserver/registry/admit.js';
import type { Operation } from '#apiserver/registry/operation.js';
import { subresourceType } from '#apiserver/resources/served-resource.js';

type ReadOptions = (context: RequestContext) => object;

const terminal: ReadOptions = ({ info: { query } }) => ({
  ...flags(query, ['stdin', 'stdout', 'stderr', 'tty']),
  ...texts(query, ['container']),
});

/** The options of a connection in the form of their kinds. Other subresources, such as a log, are not connections. */
const connections: Readonly<Record<string, ReadOptions>> = {
  exec: (context) => ({ ...terminal(context), command: context.info.query.getAll('command') }),
  attach: terminal,
  portforward: ({ info: { query } }) => {
    const ports = query
      .getAll('ports')
      .flatMap((text) => text.split(','))
      .map(Number);
    return ports.length === 0 || ports.some(Number.isNaN) ? {} : { ports };
  },
  proxy: ({ info: { rest } }) => (rest.length === 0 ? {} : { path: `/${rest.join('/')}` }),
};

/** Throws the errors of admission. */
export async function admitConnection(operation: Operation): Promise<void> {
  const { registry, context, resource } = operation;
  const { namespace, name, subresource } = context.info;
  const read = connections[subresource];
  if (read === undefined) return;
  const type = subresourceType(registry, resource, subresource);
  // These kinds have no metadata.
  const object = { kind: type.kind, apiVersion: type.apiVersion, ...read(context) } as unknown as Draft<ApiObjectShape>;
  const call = { operation: 'CONNECT', subresource, namespace, name, dryRun: false, object } as const;
  await runAdmission('admit', operation, call);
  await runAdmission('validate', operation, call);
}

function flags(query: URLSearchParams, names: readonly string[]): object {
  return Object.fromEntries(names.filter((name) => flag(query, name) === true).map((name) => [name, true]));
}

function texts(query: URLSearchParams, names: readonly string[]): object {
  return Object.fromEntries(names.map((name) => [name, query.get(name) ?? '']).filter(([, text]) => text !== ''));
}
