/* A file of the source tree as constant bytes of the program, by the assembler's .incbin. The path is relative to the
 * repository's root, where make runs; the Makefile names the files as prerequisites of the object. */
#ifndef STINT_BASE_EMBED_H
#define STINT_BASE_EMBED_H

/* Declares and defines name[] and name_end[]; the bytes are those between them. */
#define EMBED(name, path)                                                    \
	__asm__(".pushsection .rodata.embed,\"a\",@progbits\n"                   \
	        ".hidden " #name "\n.hidden " #name "_end\n"                     \
	        ".globl " #name "\n.globl " #name "_end\n"                       \
	        #name ":\n.incbin \"" path "\"\n" #name "_end:\n.byte 0\n"       \
	        ".popsection\n");                                                \
	extern const char name[] __attribute__((visibility("hidden")));          \
	extern const char name##_end[] __attribute__((visibility("hidden")))

#endif
