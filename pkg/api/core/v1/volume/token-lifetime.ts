import type { RangeWording } from '#apimachinery/validation/ranges.js';

/** How 1.24 speaks of the seconds that a token is valid. */
export const tokenWording: RangeWording = ({ minimum }, seconds) =>
  seconds < minimum
    ? 'may not specify a duration less than 10 minutes'
    : 'may not specify a duration larger than 2^32 seconds';
