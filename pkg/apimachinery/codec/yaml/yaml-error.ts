import { DecodeError } from '#apimachinery/codec/json/decode-error.js';
import type { Mark } from '#apimachinery/codec/yaml/mark.js';

/** What is wrong with a YAML text, in the words and with the line that 1.24 tells. */
export class YamlError extends DecodeError {
  constructor(problem: string, line = 0) {
    super(`yaml: ${line > 0 ? `line ${line}: ` : ''}${problem}`);
  }
}

/** Of what a scanner finds: `at` where it is, `from` where what it reads began. */
export function scanError(problem: string, at: Mark, from?: Mark): YamlError {
  return new YamlError(problem, at.line > 0 ? at.line + 1 : from?.line);
}

/** Of what tokens do not make up: 1.24 counts lines from zero there. */
export function parseError(problem: string, at: Mark, from?: Mark): YamlError {
  return new YamlError(problem, at.line > 0 ? at.line : from?.line);
}
