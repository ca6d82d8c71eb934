/** `run`: starts a pod of one container, and attaches to it if asked. */
import type { Pod } from '#api/core/v1/types.gen.js';
import { dns1123SubdomainErrors } from '#apimachinery/validation/names.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, objectPath, withQuery } from '#cmd/orchctl/api/api.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { newMetadata, saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import { dryRunOption, managerOption } from '#cmd/orchctl/commands/options.js';
import { podWhen } from '#cmd/orchctl/commands/pods.js';
import { dryRunOf, resultPrinter, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, UsageError } from '#cmd/orchctl/terminal/errors.js';

const restartPolicies = ['Always', 'OnFailure', 'Never'];
const pullPolicies = ['Always', 'IfNotPresent', 'Never'];

export const runPod: Command = {
  name: 'run',
  usage: 'NAME --image IMAGE [--env NAME=VALUE…] [--port PORT] [-it] [--rm] [-- ARG…]',
  summary: 'Run an image in a pod',
  examples: [
    'orchctl run web --image=nginx --port=80',
    'orchctl run shell -it --rm --image=busybox -- sh',
    'orchctl run web --image=nginx --dry-run=client -o yaml',
  ],
  options: {
    ...printOptions,
    ...dryRunOption,
    ...managerOption('orchctl-run'),
    ...saveConfigOption,
    image: { type: 'string', section: 'Content', meaning: 'Image of the container.' },
    'image-pull-policy': { type: 'string', section: 'Content', meaning: 'Always, IfNotPresent or Never.' },
    restart: { type: 'string', default: 'Always', section: 'Content', meaning: 'Always, OnFailure or Never.' },
    env: { type: 'stringArray', section: 'Content', meaning: 'NAME=VALUE of the container; may be repeated.' },
    labels: { type: 'strings', shorthand: 'l', section: 'Content', meaning: 'Labels of the pod: KEY=VALUE,…' },
    annotations: { type: 'stringArray', section: 'Content', meaning: 'KEY=VALUE; may be repeated.' },
    port: { type: 'string', section: 'Content', meaning: 'Port that the container listens on.' },
    expose: { type: 'bool', section: 'Content', meaning: 'Also create a service for the port.' },
    command: { type: 'bool', section: 'Content', meaning: 'Arguments are the command, not its arguments.' },
    overrides: { type: 'string', section: 'Content', meaning: 'JSON that is merged into the pod.' },
    privileged: { type: 'bool', section: 'Content', meaning: 'Run a privileged container.' },
    'grace-period': {
      type: 'int',
      default: -1,
      section: 'Deletion',
      meaning: 'With --rm: seconds for the pod to end.',
    },
    stdin: { type: 'bool', shorthand: 'i', section: 'Streams', meaning: 'Send standard input to the container.' },
    tty: { type: 'bool', shorthand: 't', section: 'Streams', meaning: 'Give the container a terminal.' },
    attach: { type: 'bool', section: 'Streams', meaning: 'Wait until the pod runs, and attach to it.' },
    quiet: { type: 'bool', shorthand: 'q', section: 'Streams', meaning: "Print only the program's output." },
    rm: { type: 'bool', section: 'Deletion', meaning: 'Delete the pod when the program ends.' },
    'leave-stdin-open': {
      type: 'bool',
      section: 'Streams',
      meaning: 'Keep standard input open after the first client that attached is gone.',
    },
    'pod-running-timeout': {
      type: 'duration',
      default: 60_000,
      section: 'Streams',
      meaning: 'How long to wait until the pod runs.',
    },
  },
  async run(invocation) {
    const { api, args, namespace, trailing, values } = invocation;
    const [name, ...more] = args;
    const dryRun = dryRunOf(values);
    const attaches = values.isSet('attach') ? values.bool('attach') : values.bool('stdin') || values.bool('tty');
    if (!values.isSet('image')) throw new CommandError('required flag(s) "image" not set');
    if (name === undefined) throw new UsageError('NAME is required for run');
    check(invocation, attaches);
    const pod = podOf(invocation, name, [...more, ...trailing]);
    if (dryRun !== 'none' && attaches) {
      throw new UsageError(
        "--dry-run=[server|client] can't be used with attached containers options (--attach, --stdin, or --tty)",
      );
    }
    const print = await resultPrinter(invocation, dryRun, { ordered: dryRun === 'client' });
    const services = values.bool('expose') ? [serviceOf(pod, values.string('port') ?? '')] : [];
    const body = values.bool('save-config') ? await withAppliedAnnotation(pod, invocation) : pod;
    const created: ApiObject[] = [];
    for (const object of [...services, body]) {
      if (dryRun === 'client') {
        if (values.isSet('output') && created.length > 0 && values.string('output') !== 'yaml')
          invocation.out.write('---\n');
        created.push(object);
        print(object, 'created');
        continue;
      }
      const resource = (await api.catalog()).byKind('v1', object.kind ?? '');
      const path = withQuery(collectionPath(resource, { namespace }), writeQuery(values, dryRun));
      const answer = await api.json<ApiObject>('POST', path, object);
      created.push(answer);
      if (!attaches) print(answer, 'created');
    }
    if (!attaches) return 0;
    return attachTo(invocation, name);
  },
};

function check({ values }: Invocation, attaches: boolean): void {
  const image = values.string('image') ?? '';
  if (image === '') throw new CommandError('--image is required');
  if (!/^[a-z0-9][\w.:/@-]*$/i.test(image) || /[A-Z]/.test(image.split(/[:@]/)[0]?.split('/').at(-1) ?? '')) {
    throw new CommandError(`Invalid image name ${JSON.stringify(image)}: invalid reference format`);
  }
  if (values.bool('tty') && !values.bool('stdin')) {
    throw new UsageError('-i/--stdin is required for containers with -t/--tty=true');
  }
  if (values.bool('expose') && (values.string('port') ?? '') === '') {
    throw new UsageError('--port must be set when exposing a service');
  }
  if (values.bool('rm') && !attaches) throw new UsageError('--rm should only be used for attached containers');
  const restart = values.string('restart') ?? '';
  if (!restartPolicies.includes(restart)) throw new UsageError(`invalid restart policy: ${restart}`);
  const pull = values.string('image-pull-policy') ?? '';
  if (pull !== '' && !pullPolicies.includes(pull)) throw new UsageError(`invalid image pull policy: ${pull}`);
}

function pairs(texts: readonly string[], what: string): Record<string, string> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at <= 0) throw new CommandError(`invalid ${what}: ${text}`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

function podOf({ values, namespace }: Invocation, name: string, args: readonly string[]): ApiObject {
  const faults = dns1123SubdomainErrors(name);
  if (faults.length > 0 && name.length > 253) throw new CommandError(`${JSON.stringify(name)}: ${faults.join(', ')}`);
  const given = values.strings('labels');
  const labels = given.length === 0 ? { run: name } : pairs(given, 'label spec');
  const annotations = pairs(values.strings('annotations'), 'annotation spec');
  const port = values.string('port') ?? '';
  const env = Object.entries(pairs(values.strings('env'), 'env')).map(([key, value]) => ({ name: key, value }));
  const pull = values.string('image-pull-policy') ?? '';
  const stdin = values.bool('stdin');
  const once = stdin && !values.bool('leave-stdin-open') ? { stdinOnce: true } : {};
  const container = {
    name,
    image: values.string('image'),
    ...(args.length === 0 ? {} : { [values.bool('command') ? 'command' : 'args']: args }),
    ...(port === '' ? {} : { ports: [{ containerPort: Number(port) }] }),
    ...(env.length === 0 ? {} : { env }),
    resources: {},
    ...(pull === '' ? {} : { imagePullPolicy: pull }),
    ...(values.bool('privileged') ? { securityContext: { privileged: true } } : {}),
    ...(stdin ? { stdin: true, ...once } : {}),
    ...(values.bool('tty') ? { tty: true } : {}),
  };
  const pod = {
    kind: 'Pod',
    apiVersion: 'v1',
    metadata: newMetadata(name, {
      ...(values.isSet('namespace') ? { namespace } : {}),
      labels,
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    }),
    spec: { containers: [container], restartPolicy: values.string('restart'), dnsPolicy: 'ClusterFirst' },
    status: {},
  };
  const overrides = values.string('overrides') ?? '';
  return (overrides === '' ? pod : merged(pod, parsedOverrides(overrides))) as unknown as ApiObject;
}

function parsedOverrides(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new CommandError(`invalid overrides: ${text}`);
  }
}

/** A merge patch (RFC 7386). */
function merged(value: unknown, patch: unknown): unknown {
  if (typeof patch !== 'object' || patch === null || Array.isArray(patch)) return patch;
  const base = typeof value === 'object' && value !== null && !Array.isArray(value) ? value : {};
  const entries = Object.entries(patch).filter(([, part]) => part !== null);
  const kept = Object.entries(base).filter(([key]) => (patch as Record<string, unknown>)[key] !== null);
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(entries.map(([key, part]) => [key, merged((base as Record<string, unknown>)[key], part)])),
  };
}

function serviceOf({ metadata }: ApiObject, port: string): ApiObject {
  const { labels: selector, name, namespace } = metadata;
  const number = Number(port);
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: newMetadata(name, namespace === undefined ? {} : { namespace }),
    spec: { ports: [{ protocol: 'TCP', port: number, targetPort: number }], selector },
    status: { loadBalancer: {} },
  } as ApiObject;
}

/** Attaches when the pod runs; the exit code is the program's. */
async function attachTo(invocation: Invocation, name: string): Promise<number> {
  const { api, err, namespace, out, values } = invocation;
  const pods = (await api.catalog()).one('pods');
  try {
    const running = ({ status }: Pod) => status?.phase === 'Running' || isOver(status?.phase);
    const pod = await podWhen(invocation, name, running, values.number('pod-running-timeout'));
    if (isOver(pod.status?.phase)) {
      const path = objectPath(pods, name, { namespace }, 'log');
      const response = await api.send('GET', path, undefined, { accept: '*/*' });
      for await (const chunk of response.body) out.write(chunk);
    } else {
      if (!values.bool('quiet') && values.bool('stdin')) {
        err.write("If you don't see a command prompt, try pressing enter.\n");
      }
      const { attach } = await import('#cmd/orchctl/commands/exec.js');
      await attach.run({ ...invocation, args: [name], trailing: [] });
    }
    if (values.string('restart') === 'Always' || !values.bool('rm')) {
      if (values.string('restart') === 'Always') return 0;
    }
    const ended = await podWhen(
      invocation,
      name,
      ({ status }) => isOver(status?.phase),
      values.number('pod-running-timeout'),
    );
    const code = ended.status?.containerStatuses?.[0]?.state?.terminated?.exitCode ?? 0;
    if (ended.status?.phase === 'Failed') {
      const { reason = 'Error', message = '' } = ended.status.containerStatuses?.[0]?.state?.terminated ?? {};
      throw new CommandError(
        `pod ${namespace}/${name} terminated (${reason})\n${message}`.trimEnd(),
        code === 0 ? 1 : code,
      );
    }
    return code;
  } finally {
    if (values.bool('rm')) {
      const grace = values.number('grace-period');
      await api.json('DELETE', objectPath(pods, name, { namespace }), {
        kind: 'DeleteOptions',
        apiVersion: 'v1',
        propagationPolicy: 'Background',
        ...(grace < 0 ? {} : { gracePeriodSeconds: grace }),
      });
      out.write(`pod ${JSON.stringify(name)} deleted\n`);
    }
  }
}

function isOver(phase: string | undefined): boolean {
  return phase === 'Succeeded' || phase === 'Failed';
}
