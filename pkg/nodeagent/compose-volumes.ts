/** Builds the parts that provide volumes. */
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import type { CSIVolumes } from '#nodeagent/csi/volumes/csi-volumes.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import { type ChangeDetection, ReferencedObjects } from '#nodeagent/objects/referenced-objects.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { PodDirectories } from '#nodeagent/volumes/pod-directories.js';
import { PodVolumes } from '#nodeagent/volumes/pod-volumes.js';
import type { TokenManager } from '#nodeagent/volumes/tokens.js';
import { VolumeMounter } from '#nodeagent/volumes/volume-mounter.js';

/** Default of the node's TTL annotation, as in release 1.24. */
const defaultTTLSeconds = 60;

export function newObjects(
  values: NodeAgentOptions,
  { informers: { client }, objectClient = client, clock, random, log, isStandalone = false }: NodeAgentDependencies,
  registrar: Pick<NodeRegistrar, 'currentNode'>,
): ReferencedObjects {
  const detection = detectionOf(values, () => {
    const text = registrar.currentNode.metadata.annotations?.[client.dialect.annotations.nodeTTL] ?? '';
    return 1000 * (/^\d+$/.test(text) ? Number(text) : defaultTTLSeconds);
  });
  return new ReferencedObjects({ client: objectClient, clock, random, log, isStandalone, detection });
}

function detectionOf(values: NodeAgentOptions, ttlMs: () => number): ChangeDetection {
  switch (values['config-map-and-secret-change-detection-strategy']) {
    case 'Cache':
      return { strategy: 'Cache', ttlMs };
    case 'Get':
      return { strategy: 'Get' };
    default:
      return { strategy: 'Watch' };
  }
}

interface VolumesInput {
  readonly objects: ReferencedObjects;
  readonly events: PodEvents;
  readonly registrar: Pick<NodeRegistrar, 'currentNode'>;
  readonly tokens: TokenManager;
  /** Absent, like `csi`, on nodes that write no files. */
  readonly directories?: PodDirectories;
  readonly csi?: CSIVolumes;
}

export function newVolumes(
  values: NodeAgentOptions,
  { informers: { client }, clock, isStandalone = false }: NodeAgentDependencies,
  { directories, csi, objects, events, registrar, tokens }: VolumesInput,
): PodVolumes {
  const keepsEnded = values['keep-terminated-pod-volumes'];
  const shared = { clock, objects, tokens, keepsEnded, ...(isStandalone ? {} : { client }) };
  const mounterPath = values['experimental-mounter-path'];
  if (directories === undefined || csi === undefined) return new PodVolumes(shared);
  const mounter = new VolumeMounter({
    ...{ dialect: client.dialect, directories, events, csi },
    node: () => registrar.currentNode,
    limitsMemory: new FeatureGates(values['feature-gates']).enabled('SizeMemoryBackedVolumes'),
    ...(mounterPath === '' || mounterPath === 'mount' ? {} : { mounter: mounterPath }),
  });
  return new PodVolumes({ ...shared, directories, mounter, csi });
}
