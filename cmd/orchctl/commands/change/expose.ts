/** `expose`: creates a service for the pods of an object. */
import type { PodSpec, Service } from '#api/core/v1/types.gen.js';
import type { ApiObject } from '#client/client.js';
import { collectionPath, withQuery } from '#cmd/orchctl/api/api.js';
import { withAppliedAnnotation } from '#cmd/orchctl/commands/applied.js';
import type { Command, Invocation } from '#cmd/orchctl/commands/command.js';
import { newMetadata, saveConfigOption } from '#cmd/orchctl/commands/create/builder.js';
import { dryRunOption, filenameOptions, managerOption } from '#cmd/orchctl/commands/options.js';
import { type Info, select } from '#cmd/orchctl/commands/selection.js';
import { dryRunOf, resultPrinter, writeQuery } from '#cmd/orchctl/commands/writing.js';
import { printOptions } from '#cmd/orchctl/print/formats.js';
import { CommandError, throwAll } from '#cmd/orchctl/terminal/errors.js';

type Labels = Readonly<Record<string, string>>;

export const expose: Command = {
  name: 'expose',
  usage: '(TYPE NAME | TYPE/NAME | -f FILE) [--port PORT] [--target-port PORT] [--name NAME] [--type TYPE]',
  summary: 'Create a service for a deployment, replica set, replication controller, service or pod',
  examples: [
    'orchctl expose deployment web --port=80 --target-port=8080',
    'orchctl expose pod web-0 --port=80 --name=front',
  ],
  completes: 'objects',
  options: {
    ...filenameOptions,
    ...printOptions,
    ...dryRunOption,
    ...managerOption('orchctl-expose'),
    ...saveConfigOption,
    port: { type: 'string', section: 'Content', meaning: 'Port of the service; default: those of the object.' },
    'target-port': { type: 'string', section: 'Content', meaning: 'Number or name of the port of the pods.' },
    protocol: { type: 'string', section: 'Content', meaning: 'Protocol of the port; default: TCP.' },
    type: { type: 'string', section: 'Content', meaning: 'ClusterIP, NodePort, LoadBalancer or ExternalName.' },
    'load-balancer-ip': { type: 'string', section: 'Content', meaning: 'Address of the load balancer.' },
    selector: { type: 'string', section: 'Content', meaning: 'Labels of the pods; default: those of the object.' },
    labels: { type: 'string', shorthand: 'l', section: 'Content', meaning: 'Labels of the service.' },
    'external-ip': {
      type: 'string',
      section: 'Content',
      meaning: 'Address outside of the cluster that the service also has.',
    },
    name: { type: 'string', section: 'Content', meaning: 'Name of the service; default: that of the object.' },
    'session-affinity': { type: 'string', section: 'Content', meaning: 'None or ClientIP.' },
    'cluster-ip': { type: 'string', section: 'Content', meaning: 'Its address; None: a service without one.' },
  },
  async run(invocation) {
    const { api, namespace, values } = invocation;
    const dryRun = dryRunOf(values);
    const { infos, errors } = await select({ ...invocation, values: withoutSelector(invocation) });
    const print = await resultPrinter(invocation, dryRun, { ordered: dryRun === 'client' });
    const failures = [...errors];
    for (const info of infos) {
      try {
        const built = serviceFor(invocation, info);
        const service = values.isSet('namespace') && dryRun === 'client' ? inNamespace(built, namespace) : built;
        if (dryRun === 'client') {
          print(service, 'exposed');
          continue;
        }
        const body = values.bool('save-config') ? await withAppliedAnnotation(service, invocation) : service;
        const path = withQuery(
          collectionPath((await api.catalog()).one('services'), { namespace }),
          writeQuery(values, dryRun),
        );
        print(await api.json<ApiObject>('POST', path, body), 'exposed');
      } catch (error) {
        failures.push(error);
      }
    }
    throwAll(failures);
    return 0;
  },
};

function inNamespace(object: ApiObject, namespace: string): ApiObject {
  return { ...object, metadata: { ...object.metadata, namespace } };
}

/** `--selector` is a field of the service here, and selects no objects. */
function withoutSelector({ values }: Invocation): Invocation['values'] {
  return { ...values, string: (name) => (name === 'selector' ? undefined : values.string(name)) };
}

interface Exposable extends ApiObject {
  readonly spec?: {
    readonly selector?: Labels & { matchLabels?: Labels; matchExpressions?: readonly unknown[] };
    readonly template?: { readonly spec?: PodSpec };
  };
}

function serviceFor({ values }: Invocation, { name, object, resource }: Info): ApiObject {
  const kind = resource.group === '' ? resource.kind : `${resource.kind}.${resource.group}`;
  const exposable = ['ReplicationController', 'Service', 'Pod', 'Deployment.apps', 'ReplicaSet.apps'];
  if (!exposable.includes(kind)) throw new CommandError(`cannot expose a ${kind}`);
  const text = (option: string) => values.string(option) ?? '';
  const selector =
    text('selector') === '' ? selectorOf(object as Exposable, resource.kind) : labelsOf(text('selector'));
  const present = portsOf(object as Exposable);
  const headless = text('cluster-ip') === 'None';
  const numbers = text('port') === '' ? present.map(({ port }) => String(port)) : text('port').split(',');
  if (numbers.length === 0 && !headless) throw new CommandError("couldn't find port via --port flag or introspection");
  const ports = numbers.map((number, i) => {
    const port = Number(number);
    if (!Number.isInteger(port)) {
      throw new CommandError(`strconv.Atoi: parsing ${JSON.stringify(number)}: invalid syntax`);
    }
    const protocol = text('protocol') || present.find((each) => String(each.port) === number)?.protocol || 'TCP';
    const target = text('target-port');
    const targetPort = target === '' ? port : /^\d+$/.test(target) ? Number(target) : target;
    return { ...(numbers.length > 1 ? { name: `port-${i + 1}` } : {}), protocol, port, targetPort };
  });
  const labels = text('labels') === '' ? object.metadata.labels : labelsOf(text('labels'));
  const affinity = text('session-affinity');
  if (affinity !== '' && affinity !== 'None' && affinity !== 'ClientIP') {
    throw new CommandError(`unknown session affinity: ${affinity}`);
  }
  const type = text('type');
  return {
    kind: 'Service',
    apiVersion: 'v1',
    metadata: newMetadata(text('name') || name.slice(0, 63), labels === undefined ? {} : { labels }),
    spec: {
      ...(ports.length === 0 ? {} : { ports }),
      selector,
      ...(text('cluster-ip') === '' ? {} : { clusterIP: text('cluster-ip') }),
      ...(type === '' ? {} : { type }),
      ...(text('external-ip') === '' ? {} : { externalIPs: [text('external-ip')] }),
      ...(affinity === '' ? {} : { sessionAffinity: affinity }),
      ...(type === 'LoadBalancer' && text('load-balancer-ip') !== ''
        ? { loadBalancerIP: text('load-balancer-ip') }
        : {}),
    },
    status: { loadBalancer: {} },
  } as ApiObject;
}

function labelsOf(text: string): Labels {
  return Object.fromEntries(
    text.split(',').map((part) => {
      const [key = '', value, more] = part.split('=');
      if (value === undefined || more !== undefined) throw new CommandError(`unexpected label spec: ${part}`);
      if (key === '') throw new CommandError('unexpected empty label key');
      return [key, value];
    }),
  );
}

/** Throws a CommandError for objects without labels by which pods could be selected. */
function selectorOf({ metadata, spec }: Exposable, kind: string): Labels {
  const cannot = (why: string) =>
    new CommandError(`couldn't retrieve selectors via --selector flag or introspection: ${why}`);
  if (kind === 'Pod') {
    if (Object.keys(metadata.labels ?? {}).length === 0) throw cannot('the pod has no labels and cannot be exposed');
    return metadata.labels ?? {};
  }
  const { selector } = spec ?? {};
  if (kind === 'Service') {
    if (selector === undefined) throw cannot('the service has no pod selector set');
    return selector;
  }
  if (kind === 'ReplicationController') return selector ?? {};
  if ((selector?.matchExpressions ?? []).length > 0) {
    throw cannot("couldn't convert expressions to map-based selector format");
  }
  return selector?.matchLabels ?? {};
}

function portsOf({ kind, spec }: Exposable): readonly { readonly port: number; readonly protocol: string }[] {
  if (kind === 'Service') {
    return ((spec as Service['spec'] | undefined)?.ports ?? []).map(({ port, protocol = 'TCP' }) => ({
      port,
      protocol,
    }));
  }
  const pod = kind === 'Pod' ? (spec as PodSpec | undefined) : spec?.template?.spec;
  return (pod?.containers ?? []).flatMap(({ ports = [] }) =>
    ports.map(({ containerPort, protocol = 'TCP' }) => ({ port: containerPort, protocol })),
  );
}
