/**
 * Definitions that were stored as v1beta1, which no version serves any more, as those of v1. What v1beta1 says once for all
 * versions, v1 says of each. Source: 1.24, staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/
 * {v1beta1/defaults.go,v1beta1/conversion.go,v1/conversion.go}.
 */
import { isMembers } from '#api/apiextensions/v1/structural/structural.js';
import { parseJSONText } from '#apimachinery/codec/json/text.js';
import type { Dialect } from '#apimachinery/dialect.js';
import { toJSONText } from '#apimachinery/json-text.js';
import { perDialect } from '#apimachinery/memo/per-dialect.js';

type Members = Record<string, unknown>;

/** Beginnings of stored definitions, by which those of v1beta1 are told. */
const startsOf = perDialect((dialect) => {
  const [old, now] = ['v1beta1', 'v1'].map((version) => dialect.apiVersion('apiextensions', version));
  const kind = '"kind":"CustomResourceDefinition"';
  const apiVersion = `"apiVersion":"${old}"`;
  const starts = [`{${kind},${apiVersion},`, `{${apiVersion},${kind},`].map((text) => Buffer.from(text));
  return { starts, apiVersion: now };
});

/** The stored bytes as those of v1; the very same ones where they are. Throws a SyntaxError for malformed ones. */
export function upgradedDefinition(stored: Buffer, dialect: Dialect): Buffer {
  const { starts, apiVersion } = startsOf(dialect);
  if (!starts.some((start) => stored.subarray(0, start.length).equals(start))) return stored;
  const { kind, metadata, spec, status } = parseJSONText(stored.toString('utf8')) as Members;
  const upgraded = { kind, apiVersion, metadata, spec: isMembers(spec) ? upgradedSpec(spec) : spec, status };
  return Buffer.from(toJSONText(upgraded));
}

function upgradedSpec(spec: Members): Members {
  const { validation, subresources, additionalPrinterColumns, version, conversion, names, ...rest } = spec;
  const given = Array.isArray(spec.versions) ? (spec.versions as readonly unknown[]).filter(isMembers) : [];
  const all = given.length > 0 ? given : [{ name: version, served: true, storage: true }];
  const forAll = present({ schema: validation, subresources, additionalPrinterColumns });
  const versions = all.map((one) => {
    const merged: Members = { ...one, ...forAll };
    const columns = merged.additionalPrinterColumns;
    return Array.isArray(columns) ? { ...merged, additionalPrinterColumns: columns.map(upgradedColumn) } : merged;
  });
  return {
    ...rest,
    scope: rest.scope ?? 'Namespaced',
    names: isMembers(names) ? namesWithDefaults(names) : names,
    versions,
    conversion: upgradedConversion(isMembers(conversion) ? conversion : {}),
    preserveUnknownFields: rest.preserveUnknownFields ?? true,
  };
}

function upgradedColumn(column: unknown): unknown {
  if (!isMembers(column)) return column;
  const { JSONPath, ...rest } = column;
  return { ...rest, jsonPath: JSONPath };
}

function namesWithDefaults(names: Members): Members {
  const kind = typeof names.kind === 'string' ? names.kind : '';
  return { ...names, singular: names.singular || kind.toLowerCase(), listKind: names.listKind || `${kind}List` };
}

function upgradedConversion({ strategy = 'None', webhookClientConfig, conversionReviewVersions }: Members): Members {
  if (strategy !== 'Webhook') return { strategy };
  const versions = conversionReviewVersions ?? ['v1beta1'];
  return { strategy, webhook: present({ clientConfig: webhookClientConfig, conversionReviewVersions: versions }) };
}

function present(members: Members): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== null));
}
