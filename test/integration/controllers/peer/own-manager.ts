/** An API server and our controller manager in this process. */
import { Registry } from 'prom-client';
import type { Test } from 'tap';
import { realClock as clock } from '#apimachinery/clock.js';
import { kubernetesDialect as dialect } from '#apimachinery/dialect.js';
import type { Client } from '#client/client.js';
import { ApiEventRecorder } from '#client/events/recorder.js';
import { InProcessTransport } from '#client/rest/in-process-transport.js';
import { RestClient } from '#client/rest/rest-client.js';
import { hostDirectories } from '#cmd/orch-controller-manager/program.js';
import { ControllerManager } from '#controllers/manager.js';
import { controllerManagerOptions } from '#controllers/options/options.js';
import { serviceAccountKey, signingAuthorities } from '#controllers/setup/key-material.js';
import { constant } from '#daemon/certificates/followed-file.js';
import { silentLogger as log } from '#daemon/log/logger.js';
import { parseOptions } from '#daemon/options/parse.js';
import { clusterCredentials, startCompleteServer } from '#test/integration/apiserver/complete-server.js';
import { managerSettings } from '#test/integration/controllers/peer/manager-settings.js';

const random = Math.random;

/** Runs until the end of the test. Resolves with an administrator's client when the controllers are ready. */
export async function startOwnManager(t: Pick<Test, 'teardown'>): Promise<Client> {
  const { pki, argv } = await clusterCredentials(t, dialect, '');
  const ranges = ['--service-cluster-ip-range', '10.96.0.0/16'];
  const server = await startCompleteServer(t, { dialect, argv: [...argv, ...ranges] });
  const user = { name: 'admin', groups: [dialect.groups.masters] };
  const newClient = () =>
    new RestClient({ transport: new InProcessTransport({ handler: server.handler, user }), dialect, clock });
  const client = newClient();
  t.teardown(() => client.close());
  const { authority, serviceAccount } = pki;
  const parsed = parseOptions(
    controllerManagerOptions(dialect),
    [
      ...managerSettings,
      '--controllers=*,bootstrapsigner,tokencleaner',
      `--cluster-signing-cert-file=${authority.certificateFile}`,
      `--cluster-signing-key-file=${authority.privateKeyFile}`,
    ],
    { program: 'test' },
  );
  if (parsed.kind !== 'run') throw new Error(`options are for "${parsed.kind}"`);
  const tokenKey = await serviceAccountKey(serviceAccount.privateKeyFile);
  const recorders: ApiEventRecorder[] = [];
  const manager = new ControllerManager(parsed.values, {
    client: newClient(),
    ...{ dialect, clock, random, log },
    events: (component) => {
      const recorder = new ApiEventRecorder({ client, source: { component }, clock, random, log });
      recorders.push(recorder);
      return recorder;
    },
    metrics: new Registry(),
    rootCA: constant(authority.certificate),
    hostDirectories,
    ...(tokenKey === undefined ? {} : { tokenKey }),
    authorities: await signingAuthorities(parsed.values),
  });
  const stop = new AbortController();
  const running = manager.start(stop.signal);
  t.teardown(async () => {
    stop.abort();
    await running;
    await manager.close();
    await Promise.all(recorders.map((recorder) => recorder.close()));
  });
  await manager.ready();
  return client;
}
