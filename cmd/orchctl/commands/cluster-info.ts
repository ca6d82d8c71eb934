/** `cluster-info`: addresses of the cluster, and a dump of what is needed to look for faults. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Pod } from '#api/core/v1/types.gen.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { objectPath } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { printAddresses } from '#cmd/orchctl/commands/server.js';
import { objectText } from '#cmd/orchctl/print/object.js';

const dump: Command = {
  name: 'dump',
  usage: '[--namespaces NAME,… | --all-namespaces] [--output-directory FOLDER]',
  summary: 'Write the objects, events and logs of namespaces, to look for faults',
  examples: ['orchctl cluster-info dump --output-directory=state', 'orchctl cluster-info dump --all-namespaces'],
  options: {
    'output-directory': {
      type: 'string',
      section: 'Output',
      meaning: 'Folder to write to; absent or -: standard output.',
    },
    output: {
      type: 'string',
      shorthand: 'o',
      default: 'json',
      oneOf: ['json', 'yaml'],
      section: 'Output',
      meaning: 'Output format.',
    },
    namespaces: {
      type: 'strings',
      section: 'Selection',
      meaning: 'Namespaces to write; default: the current one and that of the system.',
    },
    'all-namespaces': { type: 'bool', shorthand: 'A', section: 'Selection', meaning: 'All namespaces.' },
  },
  run: writeDump,
};

export const clusterInfo: Command = {
  name: 'cluster-info',
  usage: '',
  summary: 'Show the addresses of the cluster',
  examples: ['orchctl cluster-info', 'orchctl cluster-info dump'],
  subcommands: [dump],
  options: {},
  async run(invocation) {
    await printAddresses(invocation);
    invocation.out.write("\nTo further debug and diagnose cluster problems, use 'orchctl cluster-info dump'.\n");
    return 0;
  },
};

const types = [
  'events',
  'replicationcontrollers',
  'services',
  'daemonsets.apps',
  'deployments.apps',
  'replicasets.apps',
  'pods',
];

async function writeDump(invocation: Invocation): Promise<number> {
  const { api, namespace, out, values } = invocation;
  const folder = values.string('output-directory') ?? '-';
  const form = values.string('output') === 'yaml' ? 'yaml' : 'json';
  const write = (name: string, text: string) => {
    if (folder === '-' || folder === '') {
      out.write(text);
      return;
    }
    const path = join(folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const catalog = await api.catalog();
  const { dialect } = catalog;
  write(
    `nodes.${form}`,
    objectText({ apiVersion: 'v1', kind: 'NodeList', items: await api.list(catalog.one('nodes'), {}) }, form),
  );
  const namespaces = values.bool('all-namespaces')
    ? (await api.list(catalog.one('namespaces'), {})).map(({ metadata }) => metadata.name ?? '')
    : values.strings('namespaces').length > 0
      ? values.strings('namespaces')
      : [dialect.namespaces.system, namespace];
  for (const name of new Set(namespaces)) {
    for (const type of types) {
      const resource = catalog.one(type);
      const items = await api.list(resource, { namespace: name });
      const list = {
        apiVersion: resource.group === '' ? 'v1' : `${resource.group}/v1`,
        kind: `${resource.kind}List`,
        items,
      };
      write(join(name, `${resource.resource}.${form}`), objectText(list, form));
    }
    for (const pod of await api.list<Pod>(catalog.one('pods'), { namespace: name })) {
      for (const container of pod.spec.containers) {
        const podName = pod.metadata.name ?? '';
        const text = await logOf(invocation, pod, container.name);
        const title = `==== START logs for container ${container.name} of pod ${name}/${podName} ====\n`;
        write(
          join(name, podName, 'logs.txt'),
          `${title}${text}==== END logs for container ${container.name} of pod ${name}/${podName} ====\n`,
        );
      }
    }
  }
  if (folder !== '-' && folder !== '') out.write(`Cluster info dumped to ${folder}\n`);
  return 0;
}

async function logOf({ api }: Invocation, { metadata }: Pod, container: string): Promise<string> {
  const path = objectPath(
    (await api.catalog()).one('pods'),
    metadata.name ?? '',
    { namespace: metadata.namespace },
    'log',
  );
  try {
    const response = await api.send('GET', `${path}?${new URLSearchParams({ container })}`, undefined, {
      accept: '*/*',
    });
    const parts: Buffer[] = [];
    for await (const part of response.body) parts.push(part);
    return Buffer.concat(parts).toString('utf8');
  } catch (error) {
    return `Request log error: ${messageOf(error)}\n`;
  }
}
