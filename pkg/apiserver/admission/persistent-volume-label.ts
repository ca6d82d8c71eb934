/**
 * Labels volumes of clouds with their zone and region, and binds them to nodes there. No cloud provider is compiled in, so only
 * volumes that say where they are are admitted, as in 1.24 without providers.
 */
import type { NodeSelectorRequirement, NodeSelectorTerm, PersistentVolume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';
import type { AdmissionAttributes, AdmissionPlugin, MutableAttributes } from '#apiserver/admission/admission.js';
import { concerns, refusal } from '#apiserver/admission/plugin.js';

export class PersistentVolumeLabel implements AdmissionPlugin {
  readonly name = 'PersistentVolumeLabel';
  readonly resources = [{ group: 'core', resource: 'persistentvolumes' }] as const;
  readonly #dialect: Dialect;

  constructor(dialect: Dialect) {
    this.#dialect = dialect;
  }

  handles(attributes: AdmissionAttributes): boolean {
    return attributes.operation === 'CREATE' && concerns(attributes, 'core', 'persistentvolumes');
  }

  admit(attributes: MutableAttributes): void {
    const volume = attributes.object as Draft<PersistentVolume>;
    const labels = topologyOf(volume, this.#dialect);
    if (labels === undefined) {
      const why = unlabeledCloudVolume(volume);
      if (why !== undefined) throw refusal(attributes, this.#dialect, why);
      return;
    }
    const requirements = Object.entries(labels).map(([key, value], i): Draft<NodeSelectorRequirement> => {
      const values = i === 0 ? zonesIn(value) : [value];
      if (values !== undefined) return { key, operator: 'In', values };
      throw refusal(attributes, this.#dialect, `failed to convert label string for Zone: ${value} to a Set`);
    });
    requireNodes(volume, requirements);
  }
}

/** Zone and region of a provisioned volume, in this order; undefined if its labels do not say both. */
function topologyOf({ metadata }: PersistentVolume, { annotations, labels, labelDomain }: Dialect) {
  if (metadata.annotations?.[annotations.provisionedBy] === undefined) return undefined;
  const beta = `failure-domain.beta.${labelDomain}`;
  const pairs: readonly (readonly [zone: string, region: string])[] = [
    [labels.zone, labels.region],
    [`${beta}/zone`, `${beta}/region`],
  ];
  for (const [zone, region] of pairs) {
    const [inZone, inRegion] = [metadata.labels?.[zone], metadata.labels?.[region]];
    if (inZone !== undefined && inRegion !== undefined) return { [zone]: inZone, [region]: inRegion };
  }
  return undefined;
}

/** Zones of a label: `a__b`. Sorted; undefined if one of them is empty. */
function zonesIn(label: string): string[] | undefined {
  const zones = label.split('__').map((zone) => zone.trim());
  return zones.includes('') ? undefined : [...new Set(zones)].sort();
}

/** Adds the requirements to each term, unless a term has one about the same labels. */
function requireNodes(
  { spec }: Draft<PersistentVolume>,
  requirements: readonly Draft<NodeSelectorRequirement>[],
): void {
  const present = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const terms: readonly Draft<NodeSelectorTerm>[] = present.length === 0 ? [{}] : present;
  const keys = new Set(requirements.map(({ key }) => key));
  const conflict = terms.some(({ matchExpressions = [] }) => matchExpressions.some(({ key }) => keys.has(key)));
  const added = conflict ? [] : requirements;
  spec.nodeAffinity = {
    ...spec.nodeAffinity,
    required: {
      nodeSelectorTerms: terms.map((term) => ({
        ...term,
        matchExpressions: [...(term.matchExpressions ?? []), ...added],
      })),
    },
  };
}

/** The name of a volume that its cloud has yet to create. */
const provisioning = 'placeholder-for-provisioning';

/** Why a volume of a cloud is refused: its provider is missing. Undefined for all other volumes. */
function unlabeledCloudVolume({ spec }: PersistentVolume): string | undefined {
  const cloud = cloudVolumes(spec).find(({ source }) => source !== undefined);
  if (cloud === undefined) return undefined;
  const { volume, id = '', provider, provisioned = true } = cloud;
  if (provisioned && id === provisioning) return undefined;
  return `error querying ${volume} ${id}: unable to build ${provider}`;
}

interface CloudVolume {
  readonly source: object | undefined;
  /** In 1.24's words. */
  readonly volume: string;
  readonly id: string | undefined;
  readonly provider: string;
  /** False: the cloud does not create volumes of this kind on request. */
  readonly provisioned?: false;
}

function cloudVolumes(spec: PersistentVolume['spec']): readonly CloudVolume[] {
  const { awsElasticBlockStore: aws, gcePersistentDisk: gce, azureDisk: azure, cinder, vsphereVolume: vsphere } = spec;
  return [
    { source: aws, volume: 'AWS EBS volume', id: aws?.volumeID, provider: 'AWS cloud provider for EBS' },
    { source: gce, volume: 'GCE PD volume', id: gce?.pdName, provider: 'GCE cloud provider for PD' },
    { source: azure, volume: 'AzureDisk volume', id: azure?.diskName, provider: 'Azure cloud provider for AzureDisk' },
    {
      source: cinder,
      volume: 'Cinder volume',
      id: cinder?.volumeID,
      provider: 'OpenStack cloud provider for Cinder disk',
    },
    {
      ...{ source: vsphere, volume: 'vSphere Volume', id: vsphere?.volumePath },
      ...{ provider: 'vSphere cloud provider', provisioned: false },
    },
  ];
}
