/** Defaults of pods and pod templates. All functions modify their argument. */
import { containerLists } from '#api/core/v1/pod/parts/containers.js';
import { roundResources } from '#api/core/v1/resources/rounding.js';
import type { Container, ContainerPort, Pod, PodSpec, Volume } from '#api/core/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';
import type { Draft } from '#apimachinery/draft.js';

/** Parts of image names: `registry.example.com:5000/team/web:1.0@sha256:…` (grammar of distribution/reference 2.8). */
const domain = /^[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*(?::[0-9]+)?$/;
const pathComponent = /^[a-z0-9]+(?:(?:[_.]|__|-+)[a-z0-9]+)*$/;
const tagForm = /^\w[\w.-]{0,127}$/;
const identifier = /^[a-f0-9]{64}$/;

/** Number of hex digits per digest algorithm. */
const digestLengths: ReadonlyMap<string, number> = new Map([
  ['sha256', 64],
  ['sha384', 96],
  ['sha512', 128],
]);

/** The registry of names without one, and the maximum length of a name with its registry. */
const defaultDomain = 'docker.io';
const maxNameLength = 255;

/** The image's tag; `latest` without tag and digest; empty for a digest or an invalid name. */
export function imageTag(image: string): string {
  if (identifier.test(image)) return '';
  const at = image.indexOf('@');
  const digest = at < 0 ? undefined : image.slice(at + 1);
  const tagged = at < 0 ? image : image.slice(0, at);
  const colon = tagged.lastIndexOf(':');
  const hasTag = colon > tagged.lastIndexOf('/');
  const name = hasTag ? tagged.slice(0, colon) : tagged;
  const tag = hasTag ? tagged.slice(colon + 1) : undefined;
  const valid = isName(name) && (tag === undefined || tagForm.test(tag)) && (digest === undefined || isDigest(digest));
  if (!valid) return '';
  return tag ?? (digest === undefined ? 'latest' : '');
}

function isName(name: string): boolean {
  if (name.length > maxNameLength) return false;
  const slash = name.indexOf('/');
  const first = name.slice(0, Math.max(0, slash));
  const isDomain = slash >= 0 && (/[.:]/.test(first) || first === 'localhost');
  const path = isDomain ? name.slice(slash + 1) : name;
  const full = `${isDomain ? first : defaultDomain}/${isDomain || slash >= 0 ? path : `library/${path}`}`;
  if (full.length > maxNameLength || (isDomain && !domain.test(first))) return false;
  return path.split('/').every((component) => pathComponent.test(component));
}

function isDigest(digest: string): boolean {
  const [algorithm = '', hex = ''] = digest.split(':');
  return digest.split(':').length === 2 && hex.length === digestLengths.get(algorithm) && /^[a-f0-9]+$/.test(hex);
}

/** Defaults of templates, and those of pods only. */
export function defaultPod(pod: Draft<Pod>, dialect: Dialect): void {
  const spec = pod.spec;
  for (const container of spec.containers ?? []) defaultRequestsFromLimits(container);
  for (const container of spec.initContainers ?? []) defaultRequestsFromLimits(container);
  spec.enableServiceLinks ??= true;
  defaultPodSpec(spec, dialect);
  syncPodIPs(pod);
}

/** A resource with a limit but no request gets an equal request. */
function defaultRequestsFromLimits(container: Draft<Container>): void {
  const { resources } = container;
  if (resources?.limits === undefined) return;
  for (const name of Object.keys(resources.limits)) {
    resources.requests ??= {};
    resources.requests[name] ??= resources.limits[name] ?? '';
  }
}

/** The singular address is the first of the list; if they differ, the singular one wins. */
function syncPodIPs(pod: Draft<Pod>): void {
  const status = pod.status;
  if (status === undefined) return;
  const first = status.podIPs?.[0]?.ip;
  if ((status.podIP ?? '') === '') {
    if (first !== undefined) status.podIP = first;
  } else if (first !== status.podIP) status.podIPs = [{ ip: status.podIP ?? '' }];
}

/** Defaults of a spec, in a pod or template. */
export function defaultPodSpec(spec: Draft<PodSpec>, dialect: Dialect): void {
  spec.schedulerName ||= dialect.components.defaultScheduler;
  defaultServiceAccount(spec);
  for (const list of containerLists) {
    for (const container of spec[list] ?? []) {
      if (spec.hostNetwork === true && list !== 'ephemeralContainers') defaultHostPorts(container.ports ?? []);
      defaultContainer(container);
    }
  }
  for (const volume of spec.volumes ?? []) if (hasNoSource(volume)) volume.emptyDir = {};
  roundResources(spec.overhead);
}

/** Both names of the field always have the same value; the newer one wins. */
function defaultServiceAccount(spec: Draft<PodSpec>): void {
  const name = spec.serviceAccountName || spec.serviceAccount;
  if (name === undefined || name === '') return;
  if (spec.serviceAccountName !== name) spec.serviceAccountName = name;
  if (spec.serviceAccount !== name) spec.serviceAccount = name;
}

/** With host networking a container port is also a host port. */
function defaultHostPorts(ports: Draft<ContainerPort[]>): void {
  for (const port of ports) port.hostPort ||= port.containerPort;
}

function defaultContainer(container: Draft<Container>): void {
  container.imagePullPolicy ||= pullPolicyOf(container.image ?? '');
  roundResources(container.resources?.limits);
  roundResources(container.resources?.requests);
}

/** An image with a mutable tag (none, or `latest`) is pulled every time. An invalid image name has no tag. */
export function pullPolicyOf(image: string): 'Always' | 'IfNotPresent' {
  return imageTag(image) === 'latest' ? 'Always' : 'IfNotPresent';
}

function hasNoSource(volume: Volume): boolean {
  for (const field in volume) if (field !== 'name') return false;
  return true;
}
