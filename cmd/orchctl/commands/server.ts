/** Commands about the server: its types, versions and addresses. */

import type { Service } from '#api/core/v1/types.gen.js';
import { orchDialect } from '#apimachinery/dialect.js';
import { apiVersionOf, type ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { alignCells } from '#cmd/orchctl/print/align.js';
import { objectText, orderedJSON } from '#cmd/orchctl/print/object.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const apiResources: Command = {
  name: 'api-resources',
  usage: '',
  summary: "List the server's resource types",
  examples: [
    'orchctl api-resources',
    'orchctl api-resources --namespaced',
    'orchctl api-resources --verbs=list -o name',
  ],
  options: {
    namespaced: { type: 'bool', section: 'Selection', meaning: 'Only namespaced types; false: only the others.' },
    'api-group': { type: 'string', section: 'Selection', meaning: 'Only types of this group.' },
    verbs: { type: 'strings', section: 'Selection', meaning: 'Only types with all of these verbs.' },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
    'sort-by': { type: 'string', section: 'Output', meaning: 'Sort by name or kind. Default: by group.' },
    output: { type: 'string', shorthand: 'o', section: 'Output', meaning: 'Output format: name or wide.' },
  },
  async run({ api, args, values, out }) {
    if (args.length > 0) throw new UsageError(`unexpected arguments: [${args.join(' ')}]`);
    const output = values.string('output') ?? '';
    const sortBy = values.string('sort-by') ?? '';
    if (!['', 'name', 'wide'].includes(output)) throw new CommandError(`--output ${output} is not available`);
    if (!['', 'name', 'kind'].includes(sortBy)) throw new CommandError('--sort-by accepts only name or kind');
    const verbs = values.strings('verbs');
    const chosen = (await api.catalog()).preferred
      .filter((each) => !values.isSet('namespaced') || each.namespaced === values.bool('namespaced'))
      .filter((each) => !values.isSet('api-group') || each.group === values.string('api-group'))
      .filter((each) => each.verbs.length > 0 && verbs.every((verb) => each.verbs.includes(verb)));
    const key = (each: ServedResource) =>
      sortBy === 'kind' ? each.kind : sortBy === 'name' ? each.resource : each.group;
    const sorted = chosen.toSorted((a, b) => compare(key(a), key(b)) || compare(a.resource, b.resource));
    if (output === 'name') {
      for (const { group, resource } of sorted) out.write(`${group === '' ? resource : `${resource}.${group}`}\n`);
      return 0;
    }
    const wide = output === 'wide';
    const header = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', ...(wide ? ['VERBS'] : [])];
    const rows = sorted.map((each) => [
      each.resource,
      each.shortNames.join(','),
      apiVersionOf(each),
      String(each.namespaced),
      each.kind,
      ...(wide ? [`[${each.verbs.join(' ')}]`] : []),
    ]);
    out.write(alignCells(values.bool('no-headers') ? rows : [header, ...rows]));
    return 0;
  },
};

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

export const apiVersions: Command = {
  name: 'api-versions',
  usage: '',
  summary: "List the server's API versions",
  examples: ['orchctl api-versions'],
  options: {},
  async run({ api, args, out }) {
    if (args.length > 0) throw new UsageError(`unexpected arguments: [${args.join(' ')}]`);
    const { groups } = await api.json<{ groups: { versions: { groupVersion: string }[] }[] }>('GET', '/apis');
    const versions = groups.flatMap((group) => group.versions.map(({ groupVersion }) => groupVersion));
    for (const version of [...versions, 'v1'].sort()) out.write(`${version}\n`);
    return 0;
  },
};

interface Version {
  readonly gitVersion: string;
}

export const version: Command = {
  name: 'version',
  usage: '',
  summary: 'Print the versions of client and server',
  worksOffline: (values) => values.bool('client'),
  examples: ['orchctl version', 'orchctl version --client', 'orchctl version -o yaml'],
  options: {
    client: {
      type: 'bool',
      section: 'Selection',
      meaning: "Only the client's version, without contacting the server.",
    },
    short: {
      type: 'bool',
      section: 'Output',
      meaning: 'Print the numbers alone, as is the default.',
      deprecated: 'and will be removed in the future. The --short output will become the default.',
    },
    output: { type: 'string', shorthand: 'o', section: 'Output', meaning: 'Output format: yaml or json.' },
  },
  async run(invocation) {
    const { args, out, values } = invocation;
    if (args.length > 0) throw new CommandError(`extra arguments: [${args.join(' ')}]`);
    const output = values.string('output') ?? '';
    if (output !== '' && output !== 'yaml' && output !== 'json') {
      throw new CommandError("--output must be 'yaml' or 'json'");
    }
    const client = { gitVersion: orchDialect.version };
    if (output === '') out.write(`Client Version: ${client.gitVersion}\n`);
    const server = values.bool('client') ? undefined : await invocation.api.json<Version>('GET', '/version');
    if (output === '') {
      if (server !== undefined) out.write(`Server Version: ${server.gitVersion}\n`);
      return 0;
    }
    const all = { clientVersion: client, ...(server === undefined ? {} : { serverVersion: server }) };
    out.write(output === 'yaml' ? objectText(all, 'yaml') : orderedJSON(all).replaceAll('    ', '  '));
    return 0;
  },
};

/** Addresses of the control plane and of services for the cluster. */
export async function printAddresses({ api, out, namespace, values }: Invocation): Promise<void> {
  const { dialect, ...catalog } = await servicesOf(api);
  const place = values.isSet('namespace') ? namespace : dialect.namespaces.system;
  const url = new URL((await api.webSocket('')).url);
  const server = `https://${url.host}${url.pathname.replace(/\/$/, '')}`;
  const labelSelector = `${dialect.labelDomain}/cluster-service=true`;
  const services = await api.list<Service>(catalog.services, { namespace: place }, { labelSelector });
  out.write(`${dialect.displayName} control plane is running at ${server}\n`);
  for (const { metadata, spec, status } of services) {
    const [ingress] = status?.loadBalancer?.ingress ?? [];
    const [port] = spec.ports ?? [];
    const plain = metadata.name ?? '';
    const scheme = port?.name === 'https' || port?.port === 443 ? 'https' : '';
    const name =
      scheme === '' && (port?.name ?? '') === ''
        ? plain
        : `${scheme === '' ? '' : `${scheme}:`}${plain}:${port?.name ?? ''}`;
    const links = (spec.ports ?? []).map((each) => `http://${ingress?.ip ?? ingress?.hostname ?? ''}:${each.port} `);
    const link =
      ingress === undefined
        ? `${server}/api/v1/namespaces/${metadata.namespace}/services/${name}/proxy`
        : links.join('');
    out.write(`${metadata.labels?.[`${dialect.labelDomain}/name`] ?? plain} is running at ${link}\n`);
  }
}

async function servicesOf(api: Invocation['api']) {
  const catalog = await api.catalog();
  return { dialect: catalog.dialect, services: catalog.one('services') };
}
