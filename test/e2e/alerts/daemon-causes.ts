/** Daemons that hang, crash repeatedly or have another version, and certificates that expire. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { kill } from 'node:process';
import { realClock } from '#apimachinery/clock.js';
import { dialectByName } from '#apimachinery/dialect.js';
import { layoutOf } from '#cluster/config/layout.js';
import { issueCertificate } from '#pki/certificate.js';
import { directoryStore } from '#pki/file-store.js';
import { again, type Cause, type Observed } from '#test/e2e/alerts/cause.js';
import { eventually, root, run } from '#test/e2e/harness.js';
import { findProgram, killProgram } from '#test/e2e/kill.js';

const { apiServer, controllerManager, scheduler, nodeAgent, ingress } = dialectByName('orch').components;

function pidOf({ cluster }: Observed, program: string): number {
  const identity = findProgram(cluster.dataDir, program);
  if (identity === undefined) throw new Error(`${program} does not run`);
  return identity.pid;
}

/** Stops the programs, as on a machine that hangs; the result resumes them. */
function standStill(observed: Observed, programs: readonly string[]): () => Promise<void> {
  const pids = programs.map((program) => pidOf(observed, program));
  for (const pid of pids) kill(pid, 'SIGSTOP');
  return async () => {
    for (const pid of pids) kill(pid, 'SIGCONT');
  };
}

/** A daemon without CPU time: it is stopped for most of each second. */
export function hardlyAnyTime(observed: Observed): Cause {
  return {
    alerts: ['OrchEventLoopSlow'],
    async begin() {
      const pid = pidOf(observed, scheduler);
      return again(250, async () => {
        kill(pid, 'SIGSTOP');
        await realClock.sleep(700);
        kill(pid, 'SIGCONT');
      });
    },
  };
}

/** A daemon is killed repeatedly, and its supervisor restarts it. */
export function dyingAgainAndAgain(observed: Observed): Cause {
  return {
    alerts: ['OrchDaemonRestarting'],
    async begin() {
      const { dataDir } = observed.cluster;
      for (let deaths = 0; deaths < 3; deaths++) {
        const before = pidOf(observed, ingress);
        await killProgram(dataDir, ingress);
        await eventually('it runs again', async () => {
          const now = findProgram(dataDir, ingress)?.pid;
          return now !== undefined && now !== before;
        });
        // Prometheus scrapes after every start.
        await realClock.sleep(4500);
      }
      return async () => undefined;
    },
  };
}

/** A client certificate in use expires within two days, without a renewal. */
export function certificateThatEnds({ cluster }: Observed): Cause {
  return {
    alerts: ['OrchCertificateExpiring/critical', 'OrchCertificateExpiring/warning'],
    async begin() {
      const { pki } = layoutOf(cluster.dataDir);
      const text = (name: string) => readFileSync(join(pki, name), 'utf8');
      const authority = { certificate: text('front-proxy-ca.crt'), privateKey: text('front-proxy-ca.key') };
      const brief = await issueCertificate(authority, {
        subject: { commonName: 'front-proxy-client', organizations: [] },
        usages: ['client'],
        now: realClock.now(),
        validityMs: 2 * 24 * 3600_000,
      });
      await directoryStore(pki).writeAll([
        { name: 'front-proxy-client.key', text: brief.privateKey, mode: 0o600 },
        { name: 'front-proxy-client.crt', text: brief.certificate, mode: 0o644 },
      ]);
      return () => run(join(root, 'bin', 'orch'), ['certs', 'renew', `--data-dir=${cluster.dataDir}`]);
    },
  };
}

/** The machine of scheduler and agent hangs. */
export function nodeAndSchedulerHang(observed: Observed): Cause {
  return {
    alerts: ['TargetDown', 'OrchSchedulerDown', 'NodeAgentDown', 'OrchNodeNotReady'],
    begin: async () => standStill(observed, [scheduler, nodeAgent]),
  };
}

export function serverHangs(observed: Observed): Cause {
  return {
    alerts: ['OrchAPIDown', 'OrchControllerManagerDown'],
    begin: async () => standStill(observed, [apiServer, controllerManager]),
  };
}
