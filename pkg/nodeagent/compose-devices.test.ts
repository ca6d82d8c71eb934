/** The feature gates of devices and of the pod resources' service, given as option. */
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import { type Dialect, kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { startAgent } from '#nodeagent/testing/agent-fixture.js';

const gateNames: ReadonlyMap<Dialect, string> = new Map([
  [orchDialect, 'NodeAgentPodResources'],
  [kubernetesDialect, 'KubeletPodResources'],
]);

for (const [dialect, podResources] of gateNames)
  t.test(`feature gates decide which sockets there are: ${dialect.product}`, async (t) => {
    const rows: [gates: string, sockets: string[]][] = [
      ['', ['device-plugins: DEPRECATION,kubelet.sock', 'pod-resources: kubelet.sock']],
      ['DevicePlugins=false', ['pod-resources: kubelet.sock']],
      [`${podResources}=false`, ['device-plugins: DEPRECATION,kubelet.sock']],
    ];
    for (const [gates, expected] of rows) {
      const dir = await mkdtemp(join(tmpdir(), 'gates-'));
      const args = [
        `--root-dir=${dir}`,
        `--pod-logs-dir=${dir}/logs`,
        '--cgroups-per-qos=false',
        '--enforce-node-allocatable=',
      ];
      const option = gates === '' ? [] : [`--feature-gates=${gates}`];
      const fixture = startAgent({ dialect, args: [...args, ...option], dependencies: { writeFiles: true } });
      await fixture.agent.ready();
      const sockets: string[] = [];
      for (const folder of ['device-plugins', 'pod-resources']) {
        const names = await readdir(join(dir, folder)).catch(() => []);
        if (names.length > 0) sockets.push(`${folder}: ${names.sort().join()}`);
      }
      await fixture.stop();
      await rm(dir, { recursive: true });
      t.same(sockets, expected, gates);
    }
  });
