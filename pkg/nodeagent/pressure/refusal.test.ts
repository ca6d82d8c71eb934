import t from 'tap';
import type { Pod, Toleration } from '#api/core/v1/types.gen.js';
import { kubernetesDialect, orchDialect } from '#apimachinery/dialect.js';
import { pressureRefusal } from '#nodeagent/pressure/refusal.js';
import type { PressureCondition } from '#nodeagent/pressure/thresholds.js';

const pod = (requests: Record<string, string> = {}, tolerations: Toleration[] = []): Pod => ({
  metadata: { name: 'p' },
  spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }], tolerations },
});

t.test('a node under pressure rejects pods as 1.24 does', async (t) => {
  for (const dialect of [orchDialect, kubernetesDialect]) {
    const tolerant = { key: dialect.taints.memoryPressure, operator: 'Exists', effect: 'NoSchedule' };
    const memory: PressureCondition[] = ['MemoryPressure'];
    const rows: [
      name: string,
      pod: Pod,
      isCritical: boolean,
      conditions: PressureCondition[],
      expected: string | undefined,
    ][] = [
      ['no pressure', pod(), false, [], undefined],
      ['memory, best effort', pod(), false, memory, 'The node had condition: [MemoryPressure]. '],
      ['memory, with requests', pod({ memory: '1' }), false, memory, undefined],
      ['memory, tolerated', pod({}, [tolerant]), false, memory, undefined],
      ['memory, all tolerated', pod({}, [{ operator: 'Exists' }]), false, memory, undefined],
      [
        'memory, another toleration',
        pod({}, [{ ...tolerant, key: dialect.taints.diskPressure }]),
        false,
        memory,
        'The node had condition: [MemoryPressure]. ',
      ],
      ['memory, critical', pod(), true, memory, undefined],
      ['disk', pod({ memory: '1' }), false, ['DiskPressure'], 'The node had condition: [DiskPressure]. '],
      ['disk, critical', pod(), true, ['DiskPressure'], undefined],
      ['processes', pod({ memory: '1' }), false, ['PIDPressure'], 'The node had condition: [PIDPressure]. '],
      [
        'memory and disk',
        pod({ memory: '1' }, [tolerant]),
        false,
        ['MemoryPressure', 'DiskPressure'],
        'The node had condition: [MemoryPressure DiskPressure]. ',
      ],
    ];
    for (const [name, each, isCritical, conditions, message] of rows) {
      const expected = message === undefined ? undefined : { reason: 'Evicted', message };
      t.same(pressureRefusal({ dialect, pod: each, isCritical, conditions }), expected, `${dialect.product}: ${name}`);
    }
  }
});
