/** Resource usage of nodes and pods, from the metrics API. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { NodeMetrics, PodMetrics } from '#api/metrics/v1beta1/types.gen.js';
import { milliValue, value } from '#apimachinery/quantity.js';
import { queryString } from '#client/rest/paths.js';
import { collectionPath, objectPath } from '#cmd/orchctl/api/api.js';
import type { ServedResource } from '#cmd/orchctl/api/resources.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { allNamespacesOption, selectorOptions } from '#cmd/orchctl/commands/options.js';
import { alignColumns } from '#cmd/orchctl/print/table.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

/** A row of the table. */
interface Row {
  readonly cells: readonly string[];
  readonly milliCores: number;
  readonly bytes: number;
}

const mebibyte = 1024 * 1024;

export const top: Command = {
  name: 'top',
  usage: '(nodes | pods) [NAME]',
  summary: 'Show CPU and memory usage of nodes or pods',
  examples: ['orchctl top nodes', 'orchctl top pods -A --sort-by memory', 'orchctl top pods -l app=web --containers'],
  options: {
    selector: selectorOptions.selector,
    ...allNamespacesOption,
    containers: { type: 'bool', section: 'Output', meaning: 'A row for each container of the pods.' },
    'sort-by': {
      type: 'string',
      section: 'Output',
      meaning: 'Sort by `cpu` or `memory`, highest first. Default: by name.',
    },
    'no-headers': { type: 'bool', section: 'Output', meaning: 'Omit the header line.' },
  },
  async run(invocation) {
    const { args, values, out } = invocation;
    const [type, name, ...more] = args;
    const sortBy = values.string('sort-by');
    if (more.length > 0) throw new UsageError('specify one node or pod, or none for all');
    if (sortBy !== undefined && sortBy !== 'cpu' && sortBy !== 'memory') {
      throw new UsageError(`--sort-by must be cpu or memory, not ${JSON.stringify(sortBy)}`);
    }
    const plural = /^(node|nodes|no)$/.test(type ?? '')
      ? 'nodes'
      : /^(pod|pods|po)$/.test(type ?? '')
        ? 'pods'
        : undefined;
    if (plural === undefined) throw new UsageError('use: orchctl top nodes, or orchctl top pods');
    const { header, rows } = await (plural === 'nodes' ? ofNodes(invocation, name) : ofPods(invocation, name));
    const size = ({ milliCores, bytes }: Row) => (sortBy === 'memory' ? bytes : milliCores);
    const sorted = sortBy === undefined ? rows : rows.toSorted((a, b) => size(b) - size(a));
    if (sorted.length === 0) {
      invocation.err.write(`No figures of ${plural} yet: recently started ones have none\n`);
      return 0;
    }
    const lines = [...(values.bool('no-headers') ? [] : [header]), ...sorted.map(({ cells }) => cells)];
    out.write(`${alignColumns(lines).join('\n')}\n`);
    return 0;
  },
};

interface Figures {
  readonly header: readonly string[];
  readonly rows: Row[];
}

async function ofNodes(invocation: Invocation, name: string | undefined): Promise<Figures> {
  const metrics = await read<NodeMetrics>(invocation, 'NodeMetrics', {}, name);
  const nodes = new Map(
    (await listed<Node>(invocation, (await invocation.api.catalog()).one('nodes'), {}, name)).map((node) => [
      node.metadata.name,
      node,
    ]),
  );
  const share = (used: number, of: string | undefined, measure: (text: string) => number) => {
    const all = of === undefined ? 0 : measure(of);
    return all > 0 ? `${Math.floor((used * 100) / all)}%` : '<unknown>';
  };
  const rows = metrics.map(({ metadata, usage }): Row => {
    const { milliCores, bytes } = sizeOf([usage]);
    const allocatable = nodes.get(metadata.name)?.status?.allocatable;
    const cells = [
      metadata.name ?? '',
      `${milliCores}m`,
      share(milliCores, allocatable?.['cpu'], milliValue),
      `${Math.floor(bytes / mebibyte)}Mi`,
      share(bytes, allocatable?.['memory'], value),
    ];
    return { cells, milliCores, bytes };
  });
  return { header: ['NAME', 'CPU(cores)', 'CPU%', 'MEMORY(bytes)', 'MEMORY%'], rows };
}

async function ofPods(invocation: Invocation, name: string | undefined): Promise<Figures> {
  const { values, namespace } = invocation;
  const everywhere = values.bool('all-namespaces');
  if (everywhere && name !== undefined) throw new UsageError('a name cannot be combined with --all-namespaces');
  const metrics = await read<PodMetrics>(invocation, 'PodMetrics', everywhere ? {} : { namespace }, name);
  const single = values.bool('containers');
  const rows = metrics.flatMap(({ metadata, containers }): Row[] => {
    const leadingCells = [...(everywhere ? [metadata.namespace ?? ''] : []), metadata.name ?? ''];
    const row = (cells: readonly string[], usages: readonly NodeMetrics['usage'][]): Row => {
      const { milliCores, bytes } = sizeOf(usages);
      return { cells: [...cells, `${milliCores}m`, `${Math.floor(bytes / mebibyte)}Mi`], milliCores, bytes };
    };
    if (!single)
      return [
        row(
          leadingCells,
          containers.map(({ usage }) => usage),
        ),
      ];
    return containers.map((each) => row([...leadingCells, each.name], [each.usage]));
  });
  const names = single ? ['POD', 'NAME'] : ['NAME'];
  return { header: [...(everywhere ? ['NAMESPACE'] : []), ...names, 'CPU(cores)', 'MEMORY(bytes)'], rows };
}

function sizeOf(usages: readonly NodeMetrics['usage'][]): { milliCores: number; bytes: number } {
  const sum = (amountOf: (usage: NodeMetrics['usage']) => number) =>
    usages.reduce((total, usage) => total + amountOf(usage), 0);
  return {
    milliCores: sum((usage) => milliValue(usage['cpu'] ?? '0')),
    bytes: sum((usage) => value(usage['memory'] ?? '0')),
  };
}

interface Place {
  readonly namespace?: string;
}

async function read<T>(invocation: Invocation, kind: string, place: Place, name: string | undefined): Promise<T[]> {
  const resource = (await invocation.api.catalog()).all.find((each) => each.kind === kind);
  if (resource === undefined)
    throw new CommandError('the server has no metrics API: it is disabled or its server is missing');
  return listed<T>(invocation, resource, place, name);
}

async function listed<T>(
  { api, values }: Invocation,
  resource: ServedResource,
  place: Place,
  name: string | undefined,
): Promise<T[]> {
  if (name !== undefined) return [await api.json<T>('GET', objectPath(resource, name, place))];
  const query = queryString({ labelSelector: values.string('selector') });
  const { items } = await api.json<{ items: T[] }>('GET', `${collectionPath(resource, place)}${query}`);
  return items;
}
