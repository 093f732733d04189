/** A test holds this against package.json; a constant costs nothing to load. */
export const VERSION = '0.3.0';
