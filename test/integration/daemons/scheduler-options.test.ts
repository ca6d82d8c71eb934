/**
 * Every option of the scheduler has an effect: a scheduler runs with each option, and its proof checks the effect. An option
 * that another test proves names that test, which must set the option.
 */
import { EventEmitter, once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TLSSocket } from 'node:tls';
import { fileURLToPath } from 'node:url';
import t, { type Test } from 'tap';
import { leases } from '#api/coordination/v1/resources.gen.js';
import { configmaps, endpoints, namespaces, nodes, pods } from '#api/core/v1/resources.gen.js';
import { realClock as clock } from '#apimachinery/clock.js';
import { orchDialect as dialect } from '#apimachinery/dialect.js';
import { formatKubeconfig, singleContext } from '#client/kubeconfig/file.js';
import { schedulerProgram } from '#cmd/orch-scheduler/program.js';
import type { OptionTable } from '#daemon/options/option.js';
import { run } from '#daemon/run.js';
import { createAuthority, issueCertificate, type KeyCertificate } from '#pki/certificate.js';
import { schedulerOptions } from '#scheduler/options/options.js';
import { freePorts } from '#test/free-port.js';
import { startApi, until } from '#test/integration/daemons/api.js';

t.setTimeout(300_000);

const { client, api, folder } = await startApi(t, { dialect, args: ['--disable-admission-plugins=ServiceAccount'] });
for (const name of ['default', dialect.namespaces.system]) {
  await client
    .resource(namespaces)
    .create({ metadata: { name }, spec: {} })
    .catch(() => undefined);
}
const file = async (name: string, text: string) => {
  await writeFile(join(folder, name), text);
  return join(folder, name);
};

interface Asked {
  readonly method: string;
  readonly url: string;
  readonly type: string;
  readonly body: string;
}

/** Requests of schedulers to the API server; those that `refuses` matches get a refusal. */
let requests: Asked[] = [];
let refuses: (request: Asked) => boolean = () => false;

/** Forwards requests of schedulers to the API server, and records them. */
const front = createServer((question, answer) => {
  pass(question, answer).catch(() => answer.destroy());
});

async function pass(question: IncomingMessage, answer: ServerResponse): Promise<void> {
  const parts: Buffer[] = [];
  for await (const part of question) parts.push(part as Buffer);
  const body = Buffer.concat(parts);
  const { headers, method = '', url = '' } = question;
  const seen = { method, url, type: `${headers['content-type'] ?? headers.accept ?? ''}`, body: body.toString() };
  requests.push(seen);
  if (refuses(seen)) {
    answer.writeHead(403).end();
    return;
  }
  const gone = new AbortController();
  answer.on('close', () => gone.abort());
  const own = Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)]));
  const given = await api.handler({ method, url, headers: own, body, remoteAddress: '127.0.0.1', signal: gone.signal });
  answer.writeHead(given.status, given.headers);
  answer.flushHeaders();
  if (given.body === undefined || Buffer.isBuffer(given.body)) {
    answer.end(given.body);
    return;
  }
  for await (const part of given.body) answer.write(part);
  answer.end();
}

front.listen(0, '127.0.0.1');
await new Promise((resolve) => front.once('listening', resolve));
t.teardown(() => {
  front.close();
  front.closeAllConnections();
});
const server = `http://127.0.0.1:${(front.address() as AddressInfo).port}`;
const context = { clusterName: 'test', userName: 'test', token: 'root' };
const config = await file('front', formatKubeconfig(singleContext({ ...context, server })));
const nowhere = await file('nowhere', formatKubeconfig(singleContext({ ...context, server: 'http://127.0.0.1:1' })));

interface Answer {
  readonly status: number;
  readonly body: string;
  readonly socket: { readonly cipher: string; readonly subject: string };
}

/** A scheduler that runs in this process. */
class Running {
  readonly port: number;
  readonly ended: Promise<number>;
  log = '';
  readonly #signals = new EventEmitter();

  constructor(port: number, argv: readonly string[]) {
    this.port = port;
    const write = (text: string) => {
      this.log += text;
    };
    this.ended = run(schedulerProgram(process), {
      argv: ['node', 'orch-scheduler', ...argv],
      env: {},
      pid: 1,
      stdout: { write },
      stderr: { write },
      on: (event, listener) => this.#signals.on(event, listener),
      off: (event, listener) => this.#signals.off(event, listener),
      exit: () => undefined,
    });
  }

  stop(): Promise<number> {
    this.#signals.emit('SIGTERM');
    return this.ended;
  }

  /** A GET on a new connection. */
  get(path: string, more: RequestOptions = {}): Promise<Answer> {
    const where = { host: '127.0.0.1', port: this.port, path, rejectUnauthorized: false, agent: false };
    return new Promise((resolve, reject) => {
      const call = request({ ...where, ...more }, (response) => {
        const socket = response.socket as TLSSocket;
        const { CN = '' } = socket.getPeerCertificate().subject ?? {};
        const seen = { cipher: socket.getCipher().name, subject: String(CN) };
        let body = '';
        response.setEncoding('utf8');
        response.on('data', (part: string) => {
          body += part;
        });
        response.on('end', () => resolve({ status: response.statusCode ?? 0, body, socket: seen }));
      });
      call.on('error', reject);
      call.end();
    });
  }
}

const token = (name: string) => ({ headers: { authorization: `Bearer ${name}` } });
const count = (matches: (request: Asked) => boolean) => requests.filter(matches).length;
const reviews = (kind: 'tokenreviews' | 'subjectaccessreviews') => count(({ url }) => url.endsWith(`/${kind}`));
const lastReview = () => requests.findLast(({ url }) => url.endsWith('/subjectaccessreviews'))?.body ?? '';
const looksUp = ({ url }: Asked) => url.includes('/configmaps/extension-apiserver-authentication');
const warns = (name: string, why: RegExp): Proof => {
  return ({ log }, t) => t.match(log, new RegExp(`Flag --${name} ${why.source}`));
};

/** Every request for the path causes a SubjectAccessReview. */
const asksAgain =
  (path: string, status: number): Proof =>
  async (running, t) => {
    const before = reviews('subjectaccessreviews');
    for (let i = 0; i < 2; i++) {
      t.equal((await running.get(path)).status, status);
      await clock.sleep(2);
    }
    t.equal(reviews('subjectaccessreviews') - before, 2);
  };

/** The rate limiter delays requests, which it never does with the default rates. */
const waitsForTurns: Proof = async (running, t) => {
  const waited = /^rest_client_rate_limiter_duration_seconds_sum\{.*\} (\S+)$/gm;
  const { body } = await running.get('/metrics');
  t.ok([...body.matchAll(waited)].reduce((sum, [, seconds]) => sum + Number(seconds), 0) > 0.05);
};

/** Checks that the option has an effect. */
type Proof = (running: Running, t: Test) => unknown;

interface Run {
  readonly what: string;
  /** `port`: the serving port. */
  readonly args: (port: number) => readonly string[];
  /** Run one after the other. */
  readonly proofs: Readonly<Record<string, Proof>>;
  /** The exit code of a scheduler that ends by itself before the proofs run. */
  readonly ends?: number;
}

const proved = new Set<string>();
const at = (port: number) => ['--bind-address=127.0.0.1', `--secure-port=${port}`];
/** Without leader election no run waits for another run's lease. */
const alone = '--leader-elect=false';

const now = clock.now();
const authority = await createAuthority({ commonName: 'ca', now });
const issue = (commonName: string, usage: 'server' | 'client', ...names: string[]) =>
  issueCertificate(authority, { subject: { commonName, organizations: [] }, usages: [usage], names, now });
const written = async (name: string, { certificate, privateKey }: KeyCertificate) =>
  [await file(`${name}.crt`, certificate), await file(`${name}.key`, privateKey)] as const;
const [servingCert, servingKey] = await written('serving', await issue('one', 'server', 'one.example'));
const [otherCert, otherKey] = await written('other', await issue('two', 'server', 'two.example'));
const clientOf = async (name: string) => {
  const { certificate, privateKey } = await issue(name, 'client');
  return { cert: certificate, key: privateKey };
};
const [alice, proxy, impostor] = await Promise.all(['alice', 'proxy', 'impostor'].map(clientOf));
const ca = await file('ca.crt', authority.certificate);

const leaseOf = (name: string, namespace = 'default') => client.resource(leases).get(name, { namespace });

const configFile = await file(
  'config.yaml',
  `apiVersion: scheduler.config.orch.io/v1beta3
kind: OrchSchedulerConfiguration
clientConnection: {orchconfig: ${config}, qps: 1000, burst: 2000}
leaderElection: {leaderElect: true, resourceName: by-file, resourceNamespace: default}
podInitialBackoffSeconds: 3
`,
);

const runs: readonly Run[] = [
  {
    what: 'without a file',
    args: (port) => [
      ...at(port),
      `--orchconfig=${config}`,
      `--authentication-orchconfig=${config}`,
      `--authorization-orchconfig=${config}`,
      '--authentication-token-webhook-cache-ttl=1ms',
      '--authorization-webhook-cache-authorized-ttl=1ms',
      '--authorization-webhook-cache-unauthorized-ttl=1ms',
      '--authorization-always-allow-paths=/metrics',
      '--authentication-skip-lookup',
      `--cert-dir=${join(folder, 'certs')}`,
      '--tls-min-version=VersionTLS13',
      '--orch-api-content-type=application/json',
      '--leader-elect-resource-name=mine',
      '--leader-elect-resource-namespace=default',
      '--leader-elect-lease-duration=20s',
      '--feature-gates=ReadWriteOncePod=true',
      '--pod-max-in-unschedulable-pods-duration=1s',
      '--profiling=false',
      '--contention-profiling=false',
      '--http2-max-streams-per-connection=5',
      '--permit-address-sharing',
      '--permit-port-sharing',
      '--vendor-container-registry-config=/none',
      '--logging-format=json',
      '--v=4',
      '--allow-metric-labels=scheduler_queue_incoming_pods_total,event=PodAdd',
      '--disabled-metrics=scheduler_pod_scheduling_attempts',
      '--show-hidden-metrics-for-version=1.23',
    ],
    proofs: {
      'bind-address': async ({ log }, t) => t.match(log, /"address":"127\.0\.0\.1"/),
      'secure-port': async (running, t) => t.equal((await running.get('/metrics')).status, 200),
      orchconfig: (_running, t) => t.ok(count(({ url }) => url.startsWith('/api/v1/pods')) > 0),
      'orch-api-content-type': (_running, t) =>
        t.ok(
          requests.every(({ type }) => !type.includes('protobuf')) &&
            requests.some(({ type }) => type.includes('json')),
        ),
      'cert-dir': async (_running, t) => {
        t.match(await readFile(join(folder, 'certs', 'orch-scheduler.crt'), 'utf8'), 'BEGIN CERTIFICATE');
      },
      'tls-min-version': (running, t) => t.rejects(running.get('/metrics', { maxVersion: 'TLSv1.2' })),
      'authorization-always-allow-paths': async (running, t) => {
        t.equal((await running.get('/metrics')).status, 200);
        t.equal((await running.get('/configz')).status, 403);
      },
      'authentication-orchconfig': async (running, t) => {
        t.equal((await running.get('/healthz', token('root'))).status, 200);
        t.ok(reviews('tokenreviews') > 0);
      },
      'authorization-orchconfig': (_running, t) => t.match(lastReview(), '"user":"system:anonymous"'),
      'authentication-token-webhook-cache-ttl': async (running, t) => {
        const before = reviews('tokenreviews');
        for (let i = 0; i < 2; i++) {
          await running.get('/healthz', token('root'));
          await clock.sleep(2);
        }
        t.equal(reviews('tokenreviews') - before, 2);
      },
      'authorization-webhook-cache-authorized-ttl': asksAgain('/healthz', 200),
      'authorization-webhook-cache-unauthorized-ttl': asksAgain('/configz', 403),
      'authentication-skip-lookup': (_running, t) => t.equal(count(looksUp), 0),
      'leader-elect-resource-name': async (_running, t) => {
        await until('it leads', async () => (await leaseOf('mine')).spec?.holderIdentity !== undefined);
        t.equal((await leaseOf('mine')).metadata.name, 'mine');
      },
      'leader-elect-resource-namespace': async (_running, t) =>
        t.equal((await leaseOf('mine')).metadata.namespace, 'default'),
      'leader-elect-lease-duration': async (_running, t) =>
        t.equal((await leaseOf('mine')).spec?.leaseDurationSeconds, 20),
      'feature-gates': async (running, t) => {
        const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'gone' } }];
        const containers = [{ name: 'c', image: 'i', resources: { requests: { cpu: '250m' } } }];
        await client.resource(nodes).create({ metadata: { name: 'n' }, spec: {} });
        await client.resource(pods).create({
          metadata: { name: 'p', namespace: 'default' },
          spec: { containers, volumes },
        });
        const refusedBy = /unschedulable_pods\{plugin="VolumeRestrictions"/;
        await until('the pod waits', async () => refusedBy.test((await running.get('/metrics')).body));
        const { body } = await running.get('/metrics/resources', token('root'));
        const labels = 'namespace="default",pod="p",node="",scheduler="default-scheduler",priority="0"';
        t.match(body, `orch_pod_resource_request{${labels},resource="cpu",unit="cores"} 0.25\n`, 'resources of pods');
        t.pass('without the gate VolumeBinding refuses it');
      },
      'pod-max-in-unschedulable-pods-duration': async (running, t) => {
        const tries = async () =>
          Number(/attempts_total\{result="unschedulable"[^}]*\} (\d+)/.exec((await running.get('/metrics')).body)?.[1]);
        await until('the pod is tried though nothing happens', async () => (await tries()) > 2);
        t.pass();
      },
      'allow-metric-labels': async (running, t) => {
        const { body } = await running.get('/metrics');
        t.match(body, /incoming_pods_total\{[^}]*event="PodAdd"/);
        t.match(body, /incoming_pods_total\{[^}]*event="unexpected"/);
        t.notMatch(body, /incoming_pods_total\{[^}]*event="ScheduleAttemptFailure"/);
      },
      'disabled-metrics': async (running, t) =>
        t.notMatch((await running.get('/metrics')).body, /scheduler_pod_scheduling_attempts/),
      'show-hidden-metrics-for-version': async (running, t) =>
        t.match((await running.get('/metrics')).body, /scheduler_e2e_scheduling_duration_seconds/),
      profiling: async (running, t) => t.equal((await running.get('/debug/pprof/', token('root'))).status, 404),
      'logging-format': ({ log }, t) => {
        for (const line of log.trim().split('\n')) t.type(JSON.parse(line), Object);
      },
      v: ({ log }, t) => t.match(log, 'using component config'),
      'contention-profiling': warns('contention-profiling', /has no effect/),
      'http2-max-streams-per-connection': warns('http2-max-streams-per-connection', /has no effect/),
      'permit-address-sharing': ({ log }, t) => t.notMatch(log, /permit-address-sharing has no effect/),
      'permit-port-sharing': async ({ log }, t) => {
        const port = Number(/"port":(\d+),"msg":"serving securely"/.exec(log)?.[1]);
        const other = createServer();
        other.listen({ port, host: '127.0.0.1', reusePort: true });
        await once(other, 'listening');
        t.equal((other.address() as AddressInfo).port, port, 'another process may listen there, too');
        other.close();
      },
      'vendor-container-registry-config': warns('vendor-container-registry-config', /has no effect/),
    },
  },
  {
    what: 'with certificates of its own and of its clients',
    args: (port) => [
      ...at(port),
      alone,
      `--orchconfig=${config}`,
      '--orch-api-content-type=application/json',
      `--authorization-orchconfig=${config}`,
      `--tls-cert-file=${servingCert}`,
      `--tls-private-key-file=${servingKey}`,
      `--tls-sni-cert-key=${otherCert},${otherKey}`,
      '--tls-cipher-suites=TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384',
      `--client-ca-file=${ca}`,
      `--requestheader-client-ca-file=${ca}`,
      '--requestheader-allowed-names=proxy',
      '--requestheader-username-headers=x-who',
      '--requestheader-group-headers=x-crowd',
      '--requestheader-extra-headers-prefix=x-more-',
    ],
    proofs: {
      'tls-cert-file': async (running, t) => t.equal((await running.get('/healthz')).socket.subject, 'one'),
      'tls-private-key-file': async (running, t) => t.equal((await running.get('/healthz')).status, 200),
      'tls-sni-cert-key': async (running, t) =>
        t.equal((await running.get('/healthz', { servername: 'two.example' })).socket.subject, 'two'),
      'tls-cipher-suites': async (running, t) => {
        const { socket } = await running.get('/healthz', { maxVersion: 'TLSv1.2' });
        t.equal(socket.cipher, 'ECDHE-ECDSA-AES256-GCM-SHA384');
        const ciphers = 'ECDHE-ECDSA-AES128-GCM-SHA256';
        await t.rejects(running.get('/healthz', { maxVersion: 'TLSv1.2', ciphers }));
      },
      'client-ca-file': async (running, t) =>
        t.match((await running.get('/metrics', alice)).body, /User \\?"alice\\?" cannot get path/),
      'requestheader-client-ca-file': async (running, t) => {
        const headers = { 'x-who': 'a-user', 'x-crowd': 'a-group', 'x-more-color': 'blue' };
        t.match((await running.get('/metrics', { ...proxy, headers })).body, /User \\?"a-user\\?" cannot get path/);
      },
      'requestheader-username-headers': (_running, t) => t.match(lastReview(), /"user":"a-user"/),
      'requestheader-group-headers': (_running, t) => t.match(lastReview(), /"groups":\[[^\]]*"a-group"/),
      'requestheader-extra-headers-prefix': (_running, t) => t.match(lastReview(), /"color":\["blue"\]/),
      'requestheader-allowed-names': async (running, t) => {
        const { body } = await running.get('/metrics', { ...impostor, headers: { 'x-who': 'a-user' } });
        t.match(body, /User \\?"impostor\\?" cannot get path/);
      },
    },
  },
  {
    what: 'with the old names of the lock, and an address',
    args: (port) => [
      ...at(port),
      `--orchconfig=${nowhere}`,
      `--master=${server}`,
      '--lock-object-name=old',
      '--lock-object-namespace=default',
      '--orch-api-qps=20',
      '--orch-api-burst=1',
      '--authorization-always-allow-paths=/metrics',
      '--vmodule=program=4',
      '--log-flush-frequency=1ms',
    ],
    proofs: {
      master: (_running, t) => t.ok(requests.length > 0),
      'lock-object-name': async (running, t) => {
        await until('it leads', async () => (await leaseOf('old')).spec?.holderIdentity !== undefined);
        warns('lock-object-name', /has been deprecated, use --leader-elect-resource-name/)(running, t);
      },
      'lock-object-namespace': warns('lock-object-namespace', /has been deprecated, use --leader-elect-resource-names/),
      'orch-api-qps': waitsForTurns,
      'orch-api-burst': waitsForTurns,
      vmodule: ({ log }, t) => t.match(log, 'using component config'),
      'log-flush-frequency': async (running, t) => {
        await until('the lines are written', async () => running.log.includes('serving securely'));
        t.pass();
      },
    },
  },
  {
    what: 'a lock of another kind',
    args: (port) => [
      ...at(port),
      `--orchconfig=${config}`,
      '--leader-elect-resource-lock=configmapsleases',
      '--leader-elect-resource-name=kind',
      '--leader-elect-resource-namespace=default',
    ],
    proofs: {
      'leader-elect-resource-lock': async (_running, t) => {
        const annotation = dialect.annotations.leader;
        await until('the map names the leader', async () => {
          const { metadata } = await client.resource(configmaps).get('kind', { namespace: 'default' });
          return metadata.annotations?.[annotation] !== undefined;
        });
        await t.rejects(client.resource(endpoints).get('kind', { namespace: 'default' }));
      },
    },
  },
  {
    what: 'with a file, beside which deprecated options count for nothing',
    args: (port) => [
      ...at(port),
      alone,
      `--config=${configFile}`,
      `--orchconfig=${nowhere}`,
      '--orch-api-qps=0.001',
      '--orch-api-burst=1',
      '--orch-api-content-type=application/json',
      '--profiling=false',
      '--contention-profiling=false',
      '--lock-object-name=ignored',
      '--lock-object-namespace=ignored',
      '--authorization-always-allow-paths=/*',
      '--pod-max-in-unschedulable-pods-duration=7m',
    ],
    proofs: {
      config: async (running, t) => {
        const { body } = await running.get('/configz');
        t.match(JSON.parse(body), {
          componentconfig: {
            clientConnection: { orchconfig: config, qps: 1000, burst: 2000, contentType: dialect.protobufMediaType },
            enableProfiling: true,
            leaderElection: { leaderElect: false, resourceName: 'by-file', resourceNamespace: 'default' },
            podInitialBackoffSeconds: 3,
          },
        });
        t.ok(count(({ type }) => type.includes('protobuf')) > 0);
        t.equal((await running.get('/debug/pprof/')).status, 200);
        const ignored = [...running.log.matchAll(/Flag --([a-z-]+) is ignored: --config is given/g)];
        t.same(ignored.map(([, name]) => name).sort(), [
          'contention-profiling',
          'lock-object-name',
          'lock-object-namespace',
          'orch-api-burst',
          'orch-api-content-type',
          'orch-api-qps',
          'orchconfig',
          'profiling',
        ]);
      },
      'leader-elect': async (_running, t) => t.rejects(leaseOf('by-file')),
    },
  },
  {
    what: 'writes its configuration and ends',
    args: () => [
      '--dialect=kubernetes',
      `--write-config-to=${join(folder, 'written')}`,
      '--leader-elect-retry-period=1s',
      '--leader-elect-renew-deadline=9s',
    ],
    ends: 0,
    proofs: {
      'write-config-to': async (running, t) => {
        t.match(await readFile(join(folder, 'written'), 'utf8'), 'kind: KubeSchedulerConfiguration');
        t.match(running.log, 'wrote configuration');
        t.equal(requests.length, 0, 'no request was sent');
      },
      dialect: async (_running, t) =>
        t.match(await readFile(join(folder, 'written'), 'utf8'), 'apiVersion: kubescheduler.config.k8s.io/v1beta3'),
    },
  },
];
for (const { args, ends, proofs, what } of runs) {
  t.test(what, async (t) => {
    requests = [];
    const [port = 0] = await freePorts(1);
    const argv = args(port);
    const running = new Running(port, argv);
    if (ends === undefined) {
      const begun = async () => {
        const failed = await Promise.race([running.ended, clock.sleep(0)]);
        if (failed !== undefined) throw new Error(running.log);
        return (await running.get('/readyz', { headers: {} })).status > 0;
      };
      await until('it serves and watches', async () => (await begun()) && count(({ url }) => /watch/.test(url)) > 3);
    } else t.equal(await running.ended, ends, running.log);
    for (const [name, proof] of Object.entries(proofs)) {
      t.ok(
        argv.some((arg) => arg.startsWith(`--${name}`)),
        `--${name} is given`,
      );
      await t.test(`--${name}`, async (t) => {
        await proof(running, t);
      });
      proved.add(name);
    }
    if (ends === undefined) t.equal(await running.stop(), 0, running.log);
  });
}

t.test('a lookup that fails ends it unless that is tolerated', async (t) => {
  refuses = looksUp;
  t.teardown(() => {
    refuses = () => false;
  });
  const [port = 0] = await freePorts(1);
  const files = [alone, `--orchconfig=${config}`, `--authentication-orchconfig=${config}`];
  const strict = new Running(port, [...at(port), ...files, '--authentication-tolerate-lookup-failure=false']);
  t.equal(await strict.ended, 1);
  const lenient = new Running(port, [...at(port), ...files]);
  await until('it serves', async () => (await lenient.get('/healthz')).status === 200);
  t.equal(await lenient.stop(), 0, lenient.log);
  proved.add('authentication-tolerate-lookup-failure');
});

t.test('a leader that cannot renew its lease leads no more after the deadline', async (t) => {
  t.teardown(() => {
    refuses = () => false;
  });
  const lock = ['--leader-elect-resource-name=short', '--leader-elect-resource-namespace=default'];
  const times = [
    '--leader-elect-lease-duration=2s',
    '--leader-elect-renew-deadline=1s',
    '--leader-elect-retry-period=200ms',
  ];
  requests = [];
  const running = new Running(0, ['--secure-port=0', `--orchconfig=${config}`, ...lock, ...times]);
  const renewals = () => count(({ method, url }) => method === 'PUT' && url.includes('/leases/short'));
  await until('it renews again and again', async () => renewals() > 2);
  refuses = ({ url }) => url.includes('/leases/short');
  await until('it leads no more', async () => running.log.includes('lost leadership'));
  await running.stop();
  for (const name of ['leader-elect-renew-deadline', 'leader-elect-retry-period']) proved.add(name);
});

t.test('files for a lock in etcd are read', async (t) => {
  const lock = ['--leader-elect-resource-lock=etcdleases', '--etcd-servers=https://127.0.0.1:1'];
  for (const [name = '', ...others] of [
    ['etcd-cafile'],
    ['etcd-certfile', `--etcd-keyfile=${servingKey}`],
    ['etcd-keyfile', `--etcd-certfile=${servingCert}`],
  ]) {
    const etcd = [...lock, `--${name}=/none`, ...others];
    const running = new Running(0, ['--secure-port=0', `--orchconfig=${config}`, ...etcd]);
    t.equal(await running.ended, 1);
    t.match(running.log, `--${name}: ENOENT`);
    proved.add(name);
  }
});

/** Options of all daemons with control loops, which the test of another daemon proves. */
const elsewhere: Readonly<Record<string, string>> = {
  'etcd-servers': 'test/integration/daemons/controller-manager.test.ts',
  'tracing-config-file': 'test/integration/tracing/whole-way.test.ts',
};

t.test('none is left', async (t) => {
  for (const [name, test] of Object.entries(elsewhere)) {
    // Tests run compiled, below dist.
    const text = await readFile(fileURLToPath(new URL(`../../../../${test}`, import.meta.url)), 'utf8');
    t.match(text, name, `${test} gives --${name}`);
    proved.add(name);
  }
  const table: OptionTable = schedulerOptions(dialect);
  t.same(
    Object.entries(table)
      .filter(([name, { inert }]) => !proved.has(name) && inert === undefined)
      .map(([name]) => name),
    [],
  );
});
