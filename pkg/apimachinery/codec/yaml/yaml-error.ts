import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { Mark } from '#apimachinery/codec/yaml/tokens.js';

/** A YAML error with the message and line number of 1.24. */
export class YamlError extends DecodeError {
  constructor(problem: string, line = 0) {
    super(`yaml: ${line > 0 ? `line ${line}: ` : ''}${problem}`);
  }
}

/** A scanner error: `at` is its position, `from` the start of the construct. */
export function scanError(problem: string, at: Mark, from?: Mark): YamlError {
  return new YamlError(problem, at.line > 0 ? at.line + 1 : from?.line);
}

/** A parser error: here 1.24 counts lines from zero. */
export function parseError(problem: string, at: Mark, from?: Mark): YamlError {
  return new YamlError(problem, at.line > 0 ? at.line : from?.line);
}
