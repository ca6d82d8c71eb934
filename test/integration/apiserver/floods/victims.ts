/** Those whom a flood must not disturb, each on a connection of its own, new ones included. */
import { Agent, request } from 'node:https';
import { formatMicroTime, realClock } from '#apimachinery/clock.js';
import { kubernetesDialect } from '#apimachinery/dialect.js';

const { masters, nodes } = kubernetesDialect.groups;
const manager = kubernetesDialect.users.controllerManager;
const systemNamespace = kubernetesDialect.namespaces.system;

/** The group of the users of floods; it has no rights unless a test grants them. */
export const tenantGroup = 'tenants';

/** Tokens of the victims, and of users without rights. */
export function tokenFile(strangers: number): string {
  const rows = [
    `administrator,administrator,1,"${masters}"`,
    `node,system:node:n1,2,"${nodes}"`,
    `manager,${manager},3`,
    ...Array.from({ length: strangers }, (_, i) => `stranger-${i},stranger-${i},s${i},${tenantGroup}`),
  ];
  return `${rows.join('\n')}\n`;
}

interface Reply {
  readonly status: number;
  readonly text: string;
}

export class Victim {
  readonly name: string;
  readonly #port: number;
  readonly #token: string | undefined;
  readonly #kept = new Agent({ keepAlive: true, maxSockets: 1 });

  constructor(name: string, port: number, token?: string) {
    this.name = name;
    this.#port = port;
    this.#token = token;
  }

  send(method: string, path: string, body?: object, fresh = false): Promise<Reply> {
    const type = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const outgoing = request(
        {
          ...{ host: '127.0.0.1', port: this.#port, method, path, rejectUnauthorized: false },
          agent: fresh ? false : this.#kept,
          headers: {
            ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
            ...(bytes === undefined ? {} : { 'content-type': type, 'content-length': bytes.length }),
          },
        },
        (response) => {
          let text = '';
          response.setEncoding('utf8');
          response.on('data', (part: string) => {
            text += part;
          });
          response.on('end', () => resolve({ status: response.statusCode ?? 0, text }));
          response.on('error', reject);
        },
      );
      outgoing.on('error', reject);
      outgoing.end(bytes);
    });
  }

  close(): void {
    this.#kept.destroy();
  }
}

/** One request of a victim; resolves with its status. */
export interface Errand {
  readonly name: string;
  readonly expected: number;
  /** `fresh`: on a new connection. */
  run(fresh: boolean): Promise<number>;
}

const leases = (namespace: string) => `/apis/coordination.k8s.io/v1/namespaces/${namespace}/leases`;

function renewal(victim: Victim, namespace: string, name: string): Errand {
  const lease = {
    apiVersion: 'coordination.k8s.io/v1',
    kind: 'Lease',
    metadata: { name, namespace },
    spec: { holderIdentity: name, leaseDurationSeconds: 40 },
  };
  let created = false;
  return {
    name: victim.name,
    expected: 200,
    async run(fresh) {
      if (!created) {
        const { status } = await victim.send('POST', leases(namespace), lease, fresh);
        created = status === 201 || status === 409;
        return created ? 200 : status;
      }
      const change = { spec: { renewTime: formatMicroTime(realClock.now()) } };
      return (await victim.send('PATCH', `${leases(namespace)}/${name}`, change, fresh)).status;
    },
  };
}

/** A node's lease, a controller's lease, `/livez`, and an administrator's writes. */
export function errands(port: number): { readonly all: readonly Errand[]; close(): void } {
  const node = new Victim('lease of a node', port, 'node');
  const controller = new Victim('lease of a controller', port, 'manager');
  const anonymous = new Victim('/livez', port);
  const administrator = new Victim('an administrator', port, 'administrator');
  let created = 0;
  const run = Math.random().toString(36).slice(2);
  const all: Errand[] = [
    renewal(node, kubernetesDialect.namespaces.nodeLease, 'n1'),
    renewal(controller, systemNamespace, kubernetesDialect.components.controllerManager),
    {
      name: anonymous.name,
      expected: 200,
      run: async (fresh) => (await anonymous.send('GET', '/livez', undefined, fresh)).status,
    },
    {
      name: administrator.name,
      expected: 201,
      async run(fresh) {
        const metadata = { name: `${run}-${created++}` };
        const path = '/api/v1/namespaces/default/configmaps';
        return (await administrator.send('POST', path, { apiVersion: 'v1', kind: 'ConfigMap', metadata }, fresh))
          .status;
      },
    },
  ];
  return {
    all,
    close() {
      for (const each of [node, controller, anonymous, administrator]) each.close();
    },
  };
}

/** The options of a server that authorizes nodes, too. */
export function withNodes(argv: readonly string[]): string[] {
  return argv.map((each) => (each === 'RBAC' ? 'Node,RBAC' : each));
}
