/** Commands about the server. */

import { orchDialect } from '#apimachinery/dialect.js';
import { apiVersionOf } from '#cmd/orchctl/api/resources.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';

export const apiResources: Command = {
  name: 'api-resources',
  usage: '',
  summary: "List the server's resource types",
  examples: ['orchctl api-resources', 'orchctl api-resources --namespaced'],
  options: {
    namespaced: { type: 'bool', section: 'Selection', meaning: 'Only namespaced types.' },
    output: {
      type: 'string',
      shorthand: 'o',
      oneOf: ['name', 'wide'],
      section: 'Output',
      meaning: 'Output format.',
    },
  },
  async run({ api, values, out }) {
    const all = (await api.catalog()).preferred.filter((r) => !values.bool('namespaced') || r.namespaced);
    if (values.string('output') === 'name') {
      for (const r of all) out.write(`${r.group === '' ? r.resource : `${r.resource}.${r.group}`}\n`);
      return 0;
    }
    const wide = values.string('output') === 'wide';
    const header = ['NAME', 'SHORTNAMES', 'APIVERSION', 'NAMESPACED', 'KIND', ...(wide ? ['VERBS'] : [])];
    const rows = all.map((r) => [
      r.resource,
      r.shortNames.join(','),
      apiVersionOf(r),
      String(r.namespaced),
      r.kind,
      ...(wide ? [r.verbs.join(',')] : []),
    ]);
    for (const line of alignColumns([header, ...rows])) out.write(`${line}\n`);
    return 0;
  },
};

export const version: Command = {
  name: 'version',
  usage: '',
  summary: 'Print the versions of client and server',
  examples: ['orchctl version', 'orchctl version --client'],
  options: {
    client: {
      type: 'bool',
      section: 'Selection',
      meaning: "Only the client's version, without contacting the server.",
    },
  },
  async run(invocation) {
    invocation.out.write(`Client Version: ${orchDialect.version}\n`);
    if (invocation.values.bool('client')) return 0;
    const server = await invocation.api.json<{ gitVersion: string }>('GET', '/version');
    invocation.out.write(`Server Version: ${server.gitVersion}\n`);
    return 0;
  },
};
