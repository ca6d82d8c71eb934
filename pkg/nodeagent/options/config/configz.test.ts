import t from 'tap';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { parseOptions } from '#daemon/options/parse.js';
import { currentConfig } from '#nodeagent/options/config/configz.js';
import { nodeAgentOptionTable } from '#nodeagent/options/options.js';

t.test('the effective configuration has the names and formats of the configuration file', async (t) => {
  for (const [dialect, reserved, qps] of [
    [orchDialect, 'orchReserved', 'orchAPIQPS'],
    [kubernetesDialect, 'kubeReserved', 'kubeAPIQPS'],
  ] as const) {
    const table = nodeAgentOptionTable(dialect);
    const args = [
      '--orch-reserved=cpu=100m',
      '--eviction-hard=memory.available<5%',
      '--register-with-taints=a=b:NoSchedule',
      '--manifest-url-header=Authorization:Bearer secret',
    ];
    const parsed = parseOptions(table, args, { program: 'nodeagent' });
    if (parsed.kind !== 'run') throw new Error('not an option list to run with');
    const config = currentConfig(table, parsed.values, dialect);
    t.match(config, {
      authentication: { anonymous: { enabled: true }, webhook: { cacheTTL: '2m0s' } },
      evictionHard: { 'memory.available': '5%' },
      nodeStatusUpdateFrequency: '10s',
      registerWithTaints: [{ key: 'a', value: 'b', effect: 'NoSchedule' }],
      staticPodURLHeader: { Authorization: ['<masked>'] },
      [reserved]: { cpu: '100m' },
      [qps]: 5,
    });
  }
});
