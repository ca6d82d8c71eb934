/** The series of attached volumes, named as in 1.24. */
import type { Node } from '#api/core/v1/types.gen.js';
import type { VolumeAttachment } from '#api/storage/v1/types.gen.js';
import type { Lister } from '#client/informer/informer.js';
import type { VolumeUsers } from '#controllers/attachdetach/observe.js';
import type { ControllerContext } from '#controllers/framework/context.js';
import type { GaugeSample } from '#controllers/framework/metrics.js';

interface Parts {
  readonly users: VolumeUsers;
  readonly nodes: Lister<Node>;
  readonly attachments: Lister<VolumeAttachment>;
}

/** Counts what is wanted and what is there whenever it is asked for. Returns the function that ends it. */
export function registerVolumeCounts({ metrics, dialect }: ControllerContext, parts: Parts): () => void {
  const { users, nodes, attachments } = parts;
  const plugin = (driver: string) => `${dialect.labelDomain}/csi:${driver}`;
  const total = (): GaugeSample[] => {
    const actual = attachments.list().map(({ spec }) => [plugin(spec.attacher), 'actual_state_of_world'] as const);
    const desired = nodes
      .list()
      .flatMap(({ metadata }) => users.wantedBy(metadata.name ?? ''))
      .map(({ driver }) => [plugin(driver), 'desired_state_of_world'] as const);
    return counted(['plugin_name', 'state'], [...actual, ...desired]);
  };
  const inUse = (): GaugeSample[] =>
    counted(
      ['node', 'volume_plugin'],
      attachments
        .list()
        .filter(({ status }) => status?.attached === true)
        .map(({ spec }) => [spec.nodeName, plugin(spec.attacher)] as const),
    );
  const end = [
    metrics.gauge(
      {
        name: 'attachdetach_controller_total_volumes',
        help: 'Number of volumes in A/D Controller',
        labelNames: ['plugin_name', 'state'],
      },
      total,
    ),
    metrics.gauge(
      {
        name: 'storage_count_attachable_volumes_in_use',
        help: 'Measure number of volumes in use',
        labelNames: ['node', 'volume_plugin'],
      },
      inUse,
    ),
  ];
  return () => {
    for (const each of end) each();
  };
}

function counted(
  [first, second]: readonly [string, string],
  pairs: readonly (readonly [string, string])[],
): GaugeSample[] {
  const counts = new Map<string, { labels: Record<string, string>; value: number }>();
  for (const [a, b] of pairs) {
    const key = `${a}\0${b}`;
    const sample = counts.get(key) ?? { labels: { [first]: a, [second]: b }, value: 0 };
    sample.value += 1;
    counts.set(key, sample);
  }
  return [...counts.values()];
}
