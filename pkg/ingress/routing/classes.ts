/** Which Ingresses this controller carries out. Pure. */
import type { Ingress, IngressClass } from '#api/networking/v1/types.gen.js';
import type { Dialect } from '#apimachinery/dialect.js';

export interface OwnClasses {
  readonly names: ReadonlySet<string>;
  /** One of them is for Ingresses that name none. */
  readonly hasDefault: boolean;
}

export function ownClasses(classes: readonly IngressClass[], dialect: Dialect): OwnClasses {
  const own = classes.filter(({ spec }) => spec?.controller === dialect.ingress.controller);
  return {
    names: new Set(own.map(({ metadata }) => metadata.name ?? '')),
    hasDefault: own.some(({ metadata }) => metadata.annotations?.[dialect.ingress.defaultClassAnnotation] === 'true'),
  };
}

/** The annotation is the older way of naming a class, and counts where it is there. */
export function isOwn({ metadata, spec }: Ingress, { names, hasDefault }: OwnClasses, dialect: Dialect): boolean {
  const annotated = metadata.annotations?.[dialect.ingress.classAnnotation];
  const name = annotated === undefined || annotated === '' ? spec?.ingressClassName : annotated;
  return name === undefined ? hasDefault : names.has(name);
}
