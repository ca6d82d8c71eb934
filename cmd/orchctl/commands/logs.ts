import type { Pod } from '#api/core/v1/types.gen.js';
import { objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { containerOf, podOf, podsOf } from '#cmd/orchctl/commands/pods.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

export const logs: Command = {
  name: 'logs',
  usage: '(POD | TYPE/NAME | -l SELECTOR)',
  summary: 'Print the logs of containers',
  examples: [
    'orchctl logs deployment/web -f',
    'orchctl logs web-0 --tail 20 --timestamps',
    'orchctl logs web-0 --previous',
  ],
  completes: 'pods',
  options: {
    container: { type: 'string', shorthand: 'c', section: 'Selection', meaning: 'Container; default: the first.' },
    'all-containers': { type: 'bool', section: 'Selection', meaning: 'All containers of the pod.' },
    selector: { type: 'string', shorthand: 'l', section: 'Selection', meaning: 'Label selector of the pods.' },
    follow: {
      type: 'bool',
      shorthand: 'f',
      section: 'Output',
      meaning: 'Continue with new lines as they are written.',
    },
    previous: {
      type: 'bool',
      shorthand: 'p',
      section: 'Output',
      meaning: 'Logs of the container before its last restart.',
    },
    tail: { type: 'int', default: -1, section: 'Output', meaning: 'Number of lines from the end; negative: all.' },
    since: { type: 'duration', section: 'Output', meaning: 'Only lines newer than this, such as 5m.' },
    'since-time': { type: 'string', section: 'Output', meaning: 'Only lines after this time (RFC 3339).' },
    timestamps: { type: 'bool', section: 'Output', meaning: 'Prefix each line with its time.' },
    prefix: { type: 'bool', section: 'Output', meaning: 'Prefix each line with pod and container.' },
    'limit-bytes': { type: 'int', section: 'Output', meaning: 'Stop after this many bytes; 0: no limit.' },
  },
  async run(invocation) {
    const pods = await chosenPods(invocation);
    const sources = pods.flatMap((pod) => containersOf(pod, invocation).map((container) => ({ pod, container })));
    const [first] = sources;
    if (first === undefined) throw new CommandError('no pod matches');
    // A single log is copied as it arrives; several are copied line by line.
    if (sources.length === 1 && !invocation.values.bool('prefix')) {
      await copy(invocation, first.pod, first.container, (chunk) => invocation.out.write(chunk));
      return 0;
    }
    const streams = sources.map(({ pod, container }) => copyLines(invocation, pod, container));
    if (invocation.values.bool('follow')) await Promise.all(streams);
    else for (const stream of streams) await stream;
    return 0;
  },
};

async function chosenPods(invocation: Invocation): Promise<Pod[]> {
  const { args, values } = invocation;
  const selector = values.string('selector');
  if (selector !== undefined) return podsOf(invocation, selector);
  const [target, more] = args;
  if (target === undefined || more !== undefined)
    throw new UsageError(
      "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command",
    );
  return [await podOf(invocation, target)];
}

function containersOf(pod: Pod, invocation: Invocation): string[] {
  if (!invocation.values.bool('all-containers')) return [containerOf(pod, invocation)];
  const all = pod.spec.containers.map((container) => container.name);
  return [...(pod.spec.initContainers ?? []).map((c) => c.name), ...all];
}

async function copy(
  { api, values }: Invocation,
  pod: Pod,
  container: string,
  sink: (chunk: Buffer) => unknown,
): Promise<void> {
  const resource = (await api.catalog()).one('pods');
  const tail = values.number('tail');
  const since = values.number('since');
  const limit = values.number('limit-bytes');
  const path = withQuery(objectPath(resource, pod.metadata.name ?? '', { namespace: pod.metadata.namespace }, 'log'), {
    container,
    follow: values.bool('follow') ? 'true' : undefined,
    previous: values.bool('previous') ? 'true' : undefined,
    timestamps: values.bool('timestamps') ? 'true' : undefined,
    tailLines: tail >= 0 ? String(tail) : undefined,
    sinceSeconds: since > 0 ? String(Math.ceil(since / 1000)) : undefined,
    sinceTime: values.string('since-time'),
    limitBytes: limit > 0 ? String(limit) : undefined,
  });
  const response = await api.send('GET', path, undefined, { accept: '*/*' });
  for await (const chunk of response.body) sink(chunk);
}

async function copyLines(invocation: Invocation, pod: Pod, container: string): Promise<void> {
  const prefix = invocation.values.bool('prefix') ? `[pod/${pod.metadata.name}/${container}] ` : '';
  let remaining = Buffer.alloc(0);
  await copy(invocation, pod, container, (chunk) => {
    const text = Buffer.concat([remaining, chunk]);
    const end = text.lastIndexOf(10);
    remaining = text.subarray(end + 1);
    if (end < 0) return;
    for (const line of text.subarray(0, end).toString('utf8').split('\n')) invocation.out.write(`${prefix}${line}\n`);
  });
  if (remaining.length > 0) invocation.out.write(`${prefix}${remaining.toString('utf8')}\n`);
}
