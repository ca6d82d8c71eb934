/** `create service …` and `ingress`. */
import { dns1123SubdomainErrors, portNameErrors, portNumberErrors } from '#apimachinery/validation/names.js';
import type { ApiObject } from '#client/client.js';
import type { Command } from '#cmd/orchctl/commands/command.js';
import { builderCommand, dialectOf, newMetadata } from '#cmd/orchctl/commands/create/builder.js';
import { commandGroup } from '#cmd/orchctl/commands/group.js';
import { CommandError } from '#cmd/orchctl/terminal/errors.js';
import type { Values } from '#cmd/orchctl/terminal/values.js';
import type { OptionTable } from '#daemon/options/option.js';

const portOption = {
  tcp: { type: 'strings', section: 'Content', meaning: 'PORT[:TARGET] of the service; may be repeated.' },
} as const satisfies OptionTable;

interface ServiceType {
  readonly name: string;
  readonly type: string;
  readonly usage: string;
  readonly summary: string;
  readonly example: string;
  readonly options: OptionTable;
  /** Fields of the spec, and checks. */
  spec(values: Values): object;
}

function serviceCommand({ name, type, usage, summary, example, options, spec }: ServiceType): Command {
  return builderCommand({
    name,
    usage,
    summary,
    examples: [example],
    failure: `failed to create ${type} service: `,
    options: { ...portOption, ...options },
    build({ values }, own) {
      const more = spec(values);
      const tcp = values.strings('tcp');
      const isHeadless = values.string('clusterip') === 'None';
      if (!isHeadless && tcp.length === 0 && type !== 'ExternalName') {
        throw new CommandError('at least one tcp port specifier must be provided');
      }
      const nodePort = type === 'NodePort' ? values.number('node-port') : 0;
      const ports = tcp.map((text) => servicePort(text, nodePort));
      return {
        kind: 'Service',
        apiVersion: 'v1',
        metadata: newMetadata(own, { labels: { app: own } }),
        spec: { ...(ports.length === 0 ? {} : { ports }), selector: { app: own }, type, ...more },
        status: { loadBalancer: {} },
      } as ApiObject;
    },
  });
}

function servicePort(text: string, nodePort: number): object {
  const [first = '', second] = text.split(':');
  const port = Number(first);
  if (!/^\d+$/.test(first) || port > 65_535) {
    throw new CommandError(`strconv.ParseUint: parsing ${JSON.stringify(first)}: invalid syntax`);
  }
  const target = {
    name: text.replaceAll(':', '-'),
    protocol: 'TCP',
    port,
    targetPort: second === undefined ? port : targetOf(second),
  };
  return nodePort === 0 ? target : { ...target, nodePort };
}

function targetOf(text: string): number | string {
  const isNumber = /^[-+]?\d+$/.test(text);
  const faults = isNumber ? portNumberErrors(Number(text)) : portNameErrors(text);
  if (faults.length > 0) throw new CommandError(faults.join(','));
  return isNumber ? Number(text) : text;
}

export const service = commandGroup({
  name: 'service',
  aliases: ['svc'],
  summary: 'Create a service: clusterip, nodeport, loadbalancer or externalname',
  examples: ['orchctl create service clusterip web --tcp=80:8080'],
  subcommands: [
    serviceCommand({
      name: 'clusterip',
      type: 'ClusterIP',
      usage: 'NAME [--tcp PORT[:TARGET]] [--clusterip ADDRESS]',
      summary: 'Create a service with an address in the cluster',
      example: 'orchctl create service clusterip web --clusterip=None',
      options: {
        clusterip: { type: 'string', section: 'Content', meaning: 'Its address; None: a service without one.' },
      },
      spec: (values) => (values.isSet('clusterip') ? { clusterIP: values.string('clusterip') } : {}),
    }),
    serviceCommand({
      name: 'nodeport',
      type: 'NodePort',
      usage: 'NAME --tcp PORT[:TARGET] [--node-port PORT]',
      summary: 'Create a service with a port on every node',
      example: 'orchctl create service nodeport web --tcp=80:8080 --node-port=30080',
      options: {
        'node-port': { type: 'int', section: 'Content', meaning: 'The port on every node; 0: any free one.' },
      },
      spec: () => ({}),
    }),
    serviceCommand({
      name: 'loadbalancer',
      type: 'LoadBalancer',
      usage: 'NAME --tcp PORT[:TARGET]',
      summary: 'Create a service with a load balancer',
      example: 'orchctl create service loadbalancer web --tcp=80:8080',
      options: {},
      spec: () => ({}),
    }),
    serviceCommand({
      name: 'externalname',
      type: 'ExternalName',
      usage: 'NAME --external-name NAME [--tcp PORT[:TARGET]]',
      summary: 'Create a service that stands for a name outside of the cluster',
      example: 'orchctl create service externalname db --external-name=db.example.com',
      options: { 'external-name': { type: 'string', section: 'Content', meaning: 'The name it stands for.' } },
      spec(values) {
        if (!values.isSet('external-name')) throw new CommandError('required flag(s) "external-name" not set');
        const externalName = values.string('external-name') ?? '';
        if (dns1123SubdomainErrors(externalName).length > 0) {
          throw new CommandError(`invalid service external name ${externalName}`);
        }
        return { externalName };
      },
    }),
  ],
});

const ruleForm =
  /^(?<host>[\w*\-0-9.]+)?(?<path>\/.*)=(?<svcname>[\w-]+):(?<svcport>[\w-]+)(?<istls>,((?<tls>tls)(=(?<secretname>[\w-]+))?)?)?$/;

export const ingress = builderCommand({
  name: 'ingress',
  aliases: ['ing'],
  usage: 'NAME --rule HOST/PATH=SERVICE:PORT[,tls[=SECRET]]… [--default-backend SERVICE:PORT]',
  summary: 'Create an ingress',
  examples: [
    'orchctl create ingress web --rule="shop.example/*=web:80,tls=shop-tls"',
    'orchctl create ingress all --default-backend=web:80 --class=public',
  ],
  failure: 'failed to create ingress: ',
  options: {
    class: { type: 'string', section: 'Content', meaning: 'Its ingress class.' },
    rule: {
      type: 'stringArray',
      section: 'Content',
      meaning: 'HOST/PATH=SERVICE:PORT[,tls[=SECRET]]; a path that ends with * is a prefix. May be repeated.',
    },
    'default-backend': { type: 'string', section: 'Content', meaning: 'SERVICE:PORT for all other requests.' },
    annotation: { type: 'stringArray', section: 'Content', meaning: 'KEY=VALUE; may be repeated.' },
  },
  async build(invocation, name) {
    const { values } = invocation;
    const rules = values.strings('rule');
    const fallback = values.string('default-backend') ?? '';
    if (fallback === '' && rules.length === 0) {
      throw new CommandError(
        'not enough information provided: every ingress has to either specify a default-backend (which catches all traffic) or a list of rules (which catch specific paths)',
      );
    }
    const wrong = rules.find((rule) => !ruleForm.test(rule));
    if (wrong !== undefined) {
      throw new CommandError(
        `rule ${wrong} is invalid and should be in format host/path=svcname:svcport[,tls[=secret]]`,
      );
    }
    const annotations = Object.fromEntries(
      values.strings('annotation').map((text) => {
        const at = text.indexOf('=');
        if (at < 0) throw new CommandError(`annotation ${text} is invalid and should be in format key=[value]`);
        return [text.slice(0, at), text.slice(at + 1)];
      }),
    );
    if (fallback !== '' && fallback.split(':').length !== 2) {
      throw new CommandError('default-backend should be in format servicename:serviceport');
    }
    const tls = certificatesOf(rules);
    const paths = rulesOf(rules);
    const ingressClass = values.string('class') ?? '';
    const { apiVersion } = await dialectOf(invocation);
    return {
      kind: 'Ingress',
      apiVersion: apiVersion('networking', 'v1'),
      metadata: newMetadata(name, Object.keys(annotations).length === 0 ? {} : { annotations }),
      spec: {
        ...(ingressClass === '' ? {} : { ingressClassName: ingressClass }),
        ...(fallback === '' ? {} : { defaultBackend: backend(fallback) }),
        ...(tls.length === 0 ? {} : { tls }),
        ...(paths.length === 0 ? {} : { rules: paths }),
      },
      status: { loadBalancer: {} },
    } as ApiObject;
  },
});

function backend(text: string): object {
  const [name = '', port = ''] = text.split(':');
  return { service: { name, port: /^\d+$/.test(port) ? { number: Number(port) } : { name: port } } };
}

interface Certificate {
  readonly hosts: string[];
  readonly secretName: string;
}

/** One entry for each secret; a host counts once. */
function certificatesOf(rules: readonly string[]): object[] {
  const certificates: Certificate[] = [];
  const hosts = new Set<string>();
  for (const rule of rules) {
    const [path = '', tls] = rule.split(',');
    const host = path.split('/')[0] ?? '';
    if (tls === undefined || hosts.has(host)) continue;
    hosts.add(host);
    const secretName = tls.split('=')[1] ?? '';
    const present = certificates.find((each) => each.secretName === secretName);
    if (present !== undefined) present.hosts.push(host);
    else if (host !== '' || secretName !== '') certificates.push({ hosts: host === '' ? [] : [host], secretName });
  }
  return certificates.map((each) => ({
    ...(each.hosts.length === 0 ? {} : { hosts: each.hosts }),
    ...(each.secretName === '' ? {} : { secretName: each.secretName }),
  }));
}

function rulesOf(rules: readonly string[]): object[] {
  const byHost = new Map<string, object[]>();
  for (const rule of rules) {
    const [plain = ''] = rule.split(',');
    const slash = plain.indexOf('/');
    const host = plain.slice(0, slash);
    byHost.set(host, [...(byHost.get(host) ?? []), pathOf(plain.slice(slash + 1))]);
  }
  return [...byHost].map(([host, paths]) => ({ ...(host === '' ? {} : { host }), http: { paths } }));
}

function pathOf(text: string): object {
  const [path = '', service = ''] = text.split('=');
  const isPrefix = `/${path}`.endsWith('*');
  return {
    path: `/${isPrefix ? path.slice(0, -1) : path}`,
    pathType: isPrefix ? 'Prefix' : 'Exact',
    backend: backend(service),
  };
}
