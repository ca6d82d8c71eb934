/** The three-tier example on real containers: it starts at the first apply, works, scales, and survives a node drain. */
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { Agent, request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import t from 'tap';
import type { HorizontalPodAutoscaler } from '#api/autoscaling/v2/types.gen.js';
import type { Pod } from '#api/core/v1/types.gen.js';
import type { Ingress } from '#api/networking/v1/types.gen.js';
import { realClock } from '#apimachinery/clock.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { randomPort } from '#cluster/process/ports.js';
import {
  eventually,
  kubectls,
  ownRanges,
  rangeArguments,
  root,
  run,
  startTestCluster,
  whyNoServices,
} from '#test/e2e/harness.js';

t.setTimeout(420_000);

const kubectl = (await kubectls()).at(-1) ?? '';
const skip = whyNoServices() ?? (kubectl === '' ? 'kubectl is missing' : false);
const namespace = 'shop';

/** The example in the `kubernetes` dialect, because `kubectl top` works only there. */
function translatedExample(): string {
  const folder = mkdtempSync(join(tmpdir(), 'oshop-'));
  cpSync(join(root, 'examples', 'shop'), folder, { recursive: true });
  for (const name of readdirSync(folder)) {
    const file = join(folder, name);
    const ours = `apiVersion: networking.${orchDialect.apiDomain}/`;
    const theirs = `apiVersion: networking.${kubernetesDialect.apiDomain}/`;
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(ours, theirs));
  }
  return folder;
}

t.test('the shop', { skip }, async (t) => {
  const [port, securePort] = [await randomPort('0.0.0.0', Math.random), await randomPort('0.0.0.0', Math.random)];
  const cluster = await startTestCluster({
    dialect: 'kubernetes',
    runtime: 'containerd',
    nodes: 2,
    store: 'memory',
    args: [
      ...rangeArguments(await ownRanges()),
      '--ingress=built-in',
      `--ingress-http-port=${port}`,
      `--ingress-https-port=${securePort}`,
    ],
  });
  const folder = translatedExample();
  const agent = new Agent({ keepAlive: true });
  t.teardown(async () => {
    agent.destroy();
    rmSync(folder, { recursive: true, force: true });
    await cluster.destroy();
  });
  const kube = async (...args: string[]) => {
    const { code, stderr, stdout } = await cluster.client(kubectl, args);
    if (code !== 0) throw new Error(stderr);
    return stdout;
  };
  const get = async <T>(...what: string[]) =>
    JSON.parse(await kube('-n', namespace, 'get', ...what, '-o', 'json')) as T;
  /** A request of a client outside through the ingress. */
  const visit = (path: string, body?: string): Promise<{ status: number; said: string }> =>
    new Promise((resolve, reject) => {
      const method = body === undefined ? 'GET' : 'POST';
      const visiting = request({ host: '127.0.0.1', port, path, method, agent }, async (answer) => {
        resolve({ status: answer.statusCode ?? 0, said: await text(answer) });
      });
      visiting.once('error', reject);
      visiting.end(body);
    });
  /** Repeats requests until the result is called, which resolves with the failures. */
  const keepVisiting = (pauseMs: number) => {
    const failures: string[] = [];
    let visits = 0;
    let isOver = false;
    const visiting = (async () => {
      while (!isOver) {
        const { said, status } = await visit('/cgi-bin/items').catch((error) => ({ status: 0, said: String(error) }));
        if (status !== 200) failures.push(`${status} ${said}`);
        visits += 1;
        await realClock.sleep(pauseMs);
      }
    })();
    return async () => {
      isOver = true;
      await visiting;
      return { failures, visits };
    };
  };

  await t.test('comes up with one command', async (t) => {
    await kube('apply', '-f', folder);
    await kube('-n', namespace, 'wait', '--for=condition=complete', 'job/seed', '--timeout=120s');
    for (const workload of ['deployment/api', 'deployment/web', 'statefulset/database'])
      await kube('-n', namespace, 'rollout', 'status', workload, '--timeout=120s');
    const ingress = await eventually('the Ingress has an address', async () => {
      const { status } = await get<Ingress>('ingress', 'shop');
      return status?.loadBalancer?.ingress?.[0];
    });
    t.same(ingress, { ip: '127.0.0.1' });
  });
  await t.test('sells', async (t) => {
    t.match(await eventually('the page is there', async () => (await visit('/')).said), /<h1>Shop/);
    const items = await eventually('the API answers', async () => {
      const { said, status } = await visit('/cgi-bin/items');
      return status === 200 && said;
    });
    t.equal(items, 'apple 2\nbread 5\ncheese 9\n');
    t.match(await visit('/cgi-bin/orders', 'apple'), { status: 201, said: 'ordered: apple\n' });
    t.match(await visit('/cgi-bin/orders', 'anvil'), { status: 404, said: 'there is no such item\n' });
    t.match(await visit('/cgi-bin/orders'), { status: 200, said: 'apple\n' });
    const curl = await run('curl', ['-sk', '--http2', `https://127.0.0.1:${securePort}/cgi-bin/items`]);
    t.match(curl.stdout, 'apple 2', 'by HTTPS, too');
  });
  await t.test('lets only its own pods into the database', async (t) => {
    const ask = 'timeout 3 wget -q -O- http://database:8080/cgi-bin/rows/items || echo kept out';
    const command = ['--image=orch/busybox:1.0', '--restart=Never', '--', 'sh', '-c', ask];
    await kube('-n', namespace, 'run', 'thief', ...command);
    const said = await eventually('the pod has tried', async () => {
      const logged = await kube('-n', namespace, 'logs', 'thief');
      return /kept out|apple/.test(logged) && logged;
    });
    t.match(said, 'kept out');
    t.notMatch(said, 'apple');
    await kube('-n', namespace, 'delete', 'pod', 'thief', '--now', '--wait=false');
  });
  await t.test('keeps what it has sold when the database goes', async (t) => {
    await kube('-n', namespace, 'delete', 'pod', 'database-0', '--now');
    const orders = await eventually('the database is back', async () => {
      const { said, status } = await visit('/cgi-bin/orders');
      return status === 200 && said;
    });
    t.equal(orders, 'apple\n');
  });
  await t.test('tells what it uses, and grows under load', async (t) => {
    const end = keepVisiting(20);
    t.teardown(end);
    const top = (...what: string[]) => eventually(`top ${what}`, () => kube('top', ...what, '--no-headers'));
    t.match(await top('nodes'), /^node-0 +\d+m .*\nnode-1 +\d+m /);
    t.match(
      await eventually('all pods have figures', async () => {
        const said = await kube('-n', namespace, 'top', 'pods', '--no-headers');
        return said.includes('api-') && said.includes('web-') && said.includes('database-0') && said;
      }),
      /api-\S+ +\d+m +\d+Mi/,
    );
    const autoscaler = await eventually(
      'there are more replicas',
      async () => {
        const autoscaler = await get<HorizontalPodAutoscaler>('hpa.v2.autoscaling', 'api');
        return (autoscaler.status?.currentReplicas ?? 0) > 2 && autoscaler;
      },
      150_000,
    );
    t.ok((autoscaler.status?.currentReplicas ?? 0) > 2);
    const { failures, visits } = await end();
    t.same(failures, [], `${visits} visits, all answered`);
  });
  await t.test('goes on when a node is taken away', async (t) => {
    const { spec } = await get<Pod>('pod', 'database-0');
    const node = spec.nodeName === 'node-0' ? 'node-1' : 'node-0';
    const end = keepVisiting(50);
    t.teardown(end);
    await kube('drain', node, '--ignore-daemonsets', '--force', '--timeout=120s');
    for (const workload of ['deployment/api', 'deployment/web'])
      await kube('-n', namespace, 'rollout', 'status', workload, '--timeout=120s');
    const { items } = await get<{ items: Pod[] }>(
      'pods',
      '-l',
      'tier in (web, api)',
      '--field-selector=status.phase=Running',
    );
    const left = items.filter((pod) => pod.spec.nodeName === node && pod.metadata.deletionTimestamp === undefined);
    t.same(left, [], 'nothing is left on it');
    const { failures, visits } = await end();
    t.same(failures, [], `${visits} visits, all answered`);
  });
});
