/** What is answered to a question that the cluster's records decide. */
import { responseCode } from '#dns/message/numbers.js';
import type { Query } from '#dns/message/query.js';
import type { Content } from '#dns/message/response.js';
import type { ClusterZone, Lookup } from '#dns/records/zone.js';

/** `lookup`: of the question's own name, neither an alias nor outside of the zone. */
export function contentOf(
  lookup: Exclude<Lookup, { kind: 'alias' | 'outside' }>,
  { question, labels }: Query,
  zone: ClusterZone,
): Content {
  switch (lookup.kind) {
    case 'records': {
      const { answers, additional } = lookup;
      const content = { code: responseCode.NOERROR, authoritative: true, answers };
      return additional === undefined ? content : { ...content, additional };
    }
    case 'nodata':
    case 'nxdomain': {
      const code = lookup.kind === 'nodata' ? responseCode.NOERROR : responseCode.NXDOMAIN;
      // Reverse names have their own domain, whose records are not the cluster's.
      if (labels.at(-1) !== zone.domain.at(-1)) return { code, authoritative: true };
      return { code, authoritative: true, authority: zone.authority(question.length - 4) };
    }
    default:
      return lookup satisfies never;
  }
}
