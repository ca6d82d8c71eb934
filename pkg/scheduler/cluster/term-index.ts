/** The affinity terms of placed pods, with the number of pods that have them per topology domain. */

import type { AffinityTerm, PodTerms } from '#scheduler/cluster/affinity-term.js';
import type { DomainSums } from '#scheduler/cluster/domain-sums.js';
import { NodeCounts } from '#scheduler/cluster/node-counts.js';

export type TermKind = 'requiredAffinity' | 'requiredAntiAffinity' | 'preferred';

export interface PlacedTerm {
  readonly kind: TermKind;
  readonly term: AffinityTerm;
  /** Weight of a preferred term; negative for anti-affinity. */
  readonly weight: number;
  readonly counts: NodeCounts;
  readonly sums: DomainSums;
}

export interface SumsFactory {
  open(topologyKey: string, counts: NodeCounts): DomainSums;
  close(sums: DomainSums): void;
}

export class TermIndex {
  readonly #sums: SumsFactory;
  readonly #terms = new Map<string, PlacedTerm>();
  /** Grows when a new term appears or the last pod with a term goes. */
  version = 0;

  constructor(sums: SumsFactory) {
    this.#sums = sums;
  }

  terms(): Iterable<PlacedTerm> {
    return this.#terms.values();
  }

  change(terms: PodTerms, slot: number, by: 1 | -1): void {
    for (const term of terms.requiredAffinity) this.#change('requiredAffinity', term, 0, slot, by);
    for (const term of terms.requiredAntiAffinity) this.#change('requiredAntiAffinity', term, 0, slot, by);
    for (const { term, weight } of terms.preferred) this.#change('preferred', term, weight, slot, by);
  }

  #change(kind: TermKind, term: AffinityTerm, weight: number, slot: number, by: 1 | -1): void {
    const key = `${kind} ${weight} ${term.key}`;
    let placed = this.#terms.get(key);
    if (placed === undefined) {
      const counts = new NodeCounts();
      placed = { kind, term, weight, counts, sums: this.#sums.open(term.topologyKey, counts) };
      this.#terms.set(key, placed);
      this.version++;
    }
    placed.counts.add(slot, by);
    if (placed.counts.total > 0) return;
    this.#terms.delete(key);
    this.#sums.close(placed.sums);
    this.version++;
  }
}
