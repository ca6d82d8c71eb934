/** Builds the parts that use CSI drivers. */
import { realpath } from 'node:fs/promises';
import { Registry } from 'prom-client';
import type { Node } from '#api/core/v1/types.gen.js';
import type { EventRecorder } from '#client/events/recorder.js';
import type { Informer } from '#client/informer/informer.js';
import { FeatureGates } from '#daemon/options/groups/feature-gates.js';
import { Drivers } from '#nodeagent/csi/driver/drivers.js';
import { DriverHandler } from '#nodeagent/csi/registration/handler.js';
import { NodeObjects } from '#nodeagent/csi/registration/node-objects.js';
import { Attachments } from '#nodeagent/csi/volumes/attachments.js';
import { Credentials } from '#nodeagent/csi/volumes/credentials.js';
import { CSIStats } from '#nodeagent/csi/volumes/csi-stats.js';
import { CSIVolumes } from '#nodeagent/csi/volumes/csi-volumes.js';
import { DriverObjects } from '#nodeagent/csi/volumes/driver-objects.js';
import { Expansion } from '#nodeagent/csi/volumes/expansion.js';
import { VolumeLedger } from '#nodeagent/csi/volumes/ledger.js';
import { StorageMetrics } from '#nodeagent/csi/volumes/metrics.js';
import { CSIPaths } from '#nodeagent/csi/volumes/paths.js';
import { Unstager } from '#nodeagent/csi/volumes/unstager.js';
import type { NodeAgentDependencies } from '#nodeagent/dependencies.js';
import type { PodEvents } from '#nodeagent/events/pod-events.js';
import type { NodeRegistrar } from '#nodeagent/node/registrar.js';
import type { NodeAgentOptions } from '#nodeagent/options/declarations.js';
import type { TokenManager } from '#nodeagent/volumes/tokens.js';

export interface CSIInput {
  /** This node only. */
  readonly node: Informer<Node>;
  readonly recorder: EventRecorder;
  readonly events: PodEvents;
  readonly registrar: Pick<NodeRegistrar, 'poke'>;
  readonly tokens: TokenManager;
  /** A driver can be used from now on. */
  readonly onRegistered: () => void;
}

export interface CSIParts {
  readonly volumes: CSIVolumes;
  readonly stats: CSIStats;
  /** Registers the drivers that the plugin watcher finds. */
  readonly handler: DriverHandler;
  readonly nodeObjects: NodeObjects;
  /** Stops retries. */
  close(): void;
}

/** The root directory must exist. */
export async function composeCSI(
  values: NodeAgentOptions,
  { informers, clock, random, log, nodeName, metrics: registry = new Registry() }: NodeAgentDependencies,
  { node, recorder, events, registrar, tokens, onRegistered }: CSIInput,
): Promise<CSIParts> {
  const { client } = informers;
  const { dialect } = client;
  const gates = new FeatureGates(values['feature-gates']);
  const metrics = new StorageMetrics(registry, clock);
  const paths = new CSIPaths(await realpath(values['root-dir']), dialect.labelDomain);
  const drivers = new Drivers({ clock, onCall: (...call) => metrics.called(...call) });
  const objects = new DriverObjects(informers);
  const controllerAttaches = values['enable-controller-attach-detach'];
  const attachments = new Attachments({ client, clock, nodeName, node, objects, controllerAttaches });
  const stop = new AbortController();
  const services = {
    ...{ dialect, log, nodeName, drivers, paths, objects, attachments },
    ledger: new VolumeLedger(),
    credentials: new Credentials({ client, tokens, pluginName: paths.pluginName }),
    delegatesGroup: gates.enabled('DelegateFSGroupToCSIDriver'),
  };
  const volumes = new CSIVolumes({
    ...{ services, log, objects, attachments, metrics },
    expansion: new Expansion({
      ...{ services, client, recorder, events, log },
      recovers: gates.enabled('RecoverVolumeExpansionFailure'),
    }),
    unstager: (unstage) => new Unstager({ clock, log, signal: stop.signal, unstage }),
    allowsInline: gates.enabled('CSIInlineVolume'),
    onUseChanged: () => registrar.poke(),
  });
  const nodeObjects = new NodeObjects({ client, clock, random, nodeName, log });
  const handler = new DriverHandler({ drivers, nodeObjects, log, pluginName: paths.pluginName, onRegistered });
  const stats = new CSIStats({ drivers, paths, log, withHealth: gates.enabled('CSIVolumeHealth') });
  return { volumes, stats, handler, nodeObjects, close: () => stop.abort() };
}
