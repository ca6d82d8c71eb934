/** Parses option values by type. Errors use the words of Go's flag libraries. */

import { formatDuration, parseDuration } from '#apimachinery/duration.js';
import { messageOf } from '#apimachinery/errors/message.js';
import { quoted } from '#apimachinery/errors/message-values.js';
import type { OptionDeclaration } from '#daemon/options/option.js';

/** The text is not a value of the option's type. */
export class OptionValueError extends Error {
  override readonly name = 'OptionValueError';
}

const trueTexts = new Set(['1', 't', 'T', 'true', 'TRUE', 'True']);
const falseTexts = new Set(['0', 'f', 'F', 'false', 'FALSE', 'False']);

function parseBool(text: string): boolean {
  if (trueTexts.has(text)) return true;
  if (falseTexts.has(text)) return false;
  throw new OptionValueError(`strconv.ParseBool: parsing ${quoted(text)}: invalid syntax`);
}

const signed = /^[+-]?(0[xX][0-9a-fA-F]+|0[oO]?[0-7]+|0[bB][01]+|[1-9]\d*|0)$/;

function parseInteger(text: string, { unsigned, plainErrors }: OptionDeclaration): number {
  const reader = unsigned === true ? 'strconv.ParseUint' : 'strconv.ParseInt';
  const fail = (why: string, plain: string) =>
    new OptionValueError(plainErrors === true ? plain : `${reader}: parsing ${quoted(text)}: ${why}`);
  if (!signed.test(text) || (unsigned === true && /^[+-]/.test(text))) throw fail('invalid syntax', 'parse error');
  const digits = text.replace(/^[+-]/, '').replace(/^0([0-7]+)$/, '0o$1');
  const value = (text.startsWith('-') ? -1 : 1) * Number(digits);
  if (!Number.isSafeInteger(value)) throw fail('value out of range', 'value out of range');
  return value === 0 ? 0 : value;
}

function parseFloatStrict(text: string): number {
  if (!/^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text)) {
    throw new OptionValueError(`strconv.ParseFloat: parsing ${quoted(text)}: invalid syntax`);
  }
  return Number(text);
}

/** Splits at commas; a part in double quotes may contain commas, `""` in it is one quote. */
function splitCommas(text: string): string[] {
  if (text === '') return [];
  const parts: string[] = [];
  let part = '';
  let quoted = false;
  for (let i = 0; i < text.length; i += 1) {
    const char = text.charAt(i);
    if (quoted && char === '"' && text[i + 1] === '"') {
      part += '"';
      i += 1;
    } else if (char === '"' && (quoted || part === '')) quoted = !quoted;
    else if (char === ',' && !quoted) {
      parts.push(part);
      part = '';
    } else part += char;
  }
  if (quoted) throw new OptionValueError('parse error: extraneous or missing " in quoted-field');
  return [...parts, part];
}

/** `a=1,b,c=`: 1.24's syntax of `--runtime-config`. */
function parseBarePairs(text: string): [string, string][] {
  return text
    .split(',')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      return at < 0 ? [pair.trim(), ''] : [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    });
}

/** `a=1,b=2`: 1.24's syntax of most maps. */
function parsePlainPairs(text: string, valueType: 'string' | 'bool'): [string, string][] {
  return text
    .split(',')
    .filter((pair) => pair !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      if (at < 0) throw new OptionValueError(`malformed pair, expect string=${valueType}`);
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    });
}

function parseQuotedPairs(text: string): [string, string][] {
  // A single pair is taken whole, so that its key and its value may contain commas.
  const parts = text.split('=').length === 2 && !text.startsWith('"') ? [text] : splitCommas(text);
  return parts
    .filter((pair) => pair.trim() !== '')
    .map((pair) => {
      const at = pair.indexOf('=');
      if (at <= 0) throw new OptionValueError(`${pair} must be formatted as key=value`);
      return [pair.slice(0, at).trim(), pair.slice(at + 1).trim()];
    });
}

function duration(text: string): number {
  try {
    return parseDuration(text);
  } catch (error) {
    throw new OptionValueError(messageOf(error), { cause: error });
  }
}

/**
 * The value after another occurrence of the option. `previous` is the value of earlier occurrences; undefined for the
 * first, which replaces the default. Throws OptionValueError.
 */
export function parseValue(declaration: OptionDeclaration, text: string, previous: unknown): unknown {
  const { check, oneOf, min } = declaration;
  const wrong = check?.(text);
  if (wrong !== undefined) throw new OptionValueError(wrong);
  const value = parseByType(declaration, text, previous);
  if (min !== undefined && typeof value === 'number' && value < min) {
    throw new OptionValueError(
      min === 0
        ? 'must not be negative'
        : `must be at least ${declaration.type === 'duration' ? formatDuration(min) : min}`,
    );
  }
  if (oneOf !== undefined) {
    for (const item of Array.isArray(value) ? value : [value]) {
      if (!oneOf.includes(String(item))) throw new OptionValueError(`must be one of: ${oneOf.join(', ')}`);
    }
  }
  return value;
}

function parseByType(declaration: OptionDeclaration, text: string, previous: unknown): unknown {
  const { type, bareKeys, quotedPairs, words = {} } = declaration;
  switch (type) {
    case 'string':
      return text;
    case 'strings':
      return [...((previous as string[] | undefined) ?? []), ...splitCommas(text)];
    case 'stringArray':
      return [...((previous as string[] | undefined) ?? []), text];
    case 'bool':
      return parseBool(text);
    case 'int':
      return words[text.toUpperCase()] ?? parseInteger(text, declaration);
    case 'float':
      return parseFloatStrict(text);
    case 'duration':
      return duration(text);
    case 'map': {
      const plain = bareKeys === true ? parseBarePairs : (all: string) => parsePlainPairs(all, 'string');
      const pairs = quotedPairs === true ? parseQuotedPairs(text) : plain(text);
      return { ...((previous as Record<string, string> | undefined) ?? {}), ...Object.fromEntries(pairs) };
    }
    case 'boolMap': {
      const pairs = parsePlainPairs(text, 'bool').map(([key, value]) => [key, parseBool(value)] as const);
      return { ...((previous as Record<string, boolean> | undefined) ?? {}), ...Object.fromEntries(pairs) };
    }
    default:
      return type satisfies never;
  }
}

/** The value of an option that is not set. */
export function defaultValue(declaration: OptionDeclaration): unknown {
  if (declaration.default !== undefined) return structuredClone(declaration.default);
  switch (declaration.type) {
    case 'string':
      return undefined;
    case 'strings':
    case 'stringArray':
      return [];
    case 'bool':
      return false;
    case 'int':
    case 'float':
    case 'duration':
      return 0;
    case 'map':
    case 'boolMap':
      return {};
    default:
      return declaration.type satisfies never;
  }
}
