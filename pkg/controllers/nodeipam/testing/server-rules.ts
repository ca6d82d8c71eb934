import { nodes } from '#api/core/v1/resources.gen.js';
import type { Node } from '#api/core/v1/types.gen.js';
import { invalid, type StatusError } from '#apimachinery/errors/status.js';
import type { FakeApi, FakeCall } from '#client/testing/fake-api.js';

/** The server's error for a patch with another UID, or with other ranges than the node has. */
export function refusal(api: FakeApi, { resource, verb, name = '', body }: FakeCall): StatusError | undefined {
  const node = resource === 'nodes' && verb === 'patch' ? api.get(nodes, name) : undefined;
  if (node === undefined) return undefined;
  const { metadata, spec } = body as Node;
  const { podCIDRs = [] } = node.spec;
  const otherNode = metadata.uid !== undefined && metadata.uid !== node.metadata.uid;
  const otherRanges = podCIDRs.length > 0 && podCIDRs.join() !== (spec.podCIDRs ?? []).join();
  if (!otherNode && !otherRanges) return undefined;
  return invalid({ group: '', kind: 'Node' }, name, []);
}
