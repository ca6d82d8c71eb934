/** The pods and containers that `debug` creates. Pure. */
import type { Container, Pod } from '#api/core/v1/types.gen.js';
import type { ApiObject } from '#client/client.js';
import type { Invocation } from '#cmd/orchctl/commands/command.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';

export function debugContainer({ values }: Pick<Invocation, 'values'>, name: string, args: readonly string[]): object {
  const pull = values.string('image-pull-policy') ?? '';
  const env = Object.entries(values.map('env')).map(([key, value]) => ({ name: key, value }));
  return {
    name,
    image: values.string('image'),
    ...(env.length === 0 ? {} : { env }),
    ...(args.length === 0 ? {} : { [values.bool('arguments-only') ? 'args' : 'command']: args }),
    ...(pull === '' ? {} : { imagePullPolicy: pull }),
    ...(values.bool('stdin') ? { stdin: true } : {}),
    ...(values.bool('tty') ? { tty: true } : {}),
    terminationMessagePolicy: 'File',
  };
}

/** A pod in the namespaces of the node, with the node's files below /host. */
export function nodePod(
  container: object,
  { name, nodeName }: { readonly name: string; readonly nodeName: string },
): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name },
    spec: {
      containers: [{ ...container, volumeMounts: [{ mountPath: '/host', name: 'host-root' }] }],
      hostIPC: true,
      hostNetwork: true,
      hostPID: true,
      nodeName,
      restartPolicy: 'Never',
      tolerations: [{ operator: 'Exists' }],
      volumes: [{ hostPath: { path: '/' }, name: 'host-root' }],
    },
  };
}

/** A copy without labels, so that no controller and no service counts it, and without probes of the changed container. */
export function copyOf(
  { metadata, spec }: Pod,
  { values }: Pick<Invocation, 'values'>,
  { name, trailing }: { readonly name: string; readonly trailing: readonly string[] },
): ApiObject {
  const images = values.map('set-image');
  const unknown = Object.keys(images).find((key) => key !== '*' && !spec.containers.some((each) => each.name === key));
  if (unknown !== undefined) throw new CommandError(`container ${JSON.stringify(unknown)} not found`);
  const containers = spec.containers.map((each): object => {
    const image = images[each.name] ?? images['*'];
    const changed = image === undefined ? each : { ...each, image };
    return each.name === name ? withChanges(changed, values, trailing) : changed;
  });
  if (!spec.containers.some((each) => each.name === name) && (values.string('image') ?? '') !== '') {
    containers.push(debugContainer({ values }, name, trailing));
  }
  const { ephemeralContainers: _ephemeral, nodeName, ...rest } = spec;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: values.string('copy-to') ?? '', annotations: metadata.annotations ?? {} },
    spec: {
      ...rest,
      containers,
      ...(values.bool('same-node') && nodeName !== undefined ? { nodeName } : {}),
      shareProcessNamespace: values.bool('share-processes'),
    },
  } as ApiObject;
}

function withChanges(container: Container, values: Invocation['values'], args: readonly string[]): object {
  const {
    livenessProbe: _live,
    readinessProbe: _ready,
    startupProbe: _start,
    command,
    args: former,
    ...rest
  } = container;
  const image = values.string('image') ?? '';
  const own =
    args.length === 0
      ? { ...(command === undefined ? {} : { command }), ...(former === undefined ? {} : { args: former }) }
      : {};
  return {
    ...rest,
    ...own,
    ...(args.length === 0 ? {} : { [values.bool('arguments-only') ? 'args' : 'command']: args }),
    ...(image === '' ? {} : { image }),
    ...(values.bool('stdin') ? { stdin: true } : {}),
    ...(values.bool('tty') ? { tty: true } : {}),
  };
}
