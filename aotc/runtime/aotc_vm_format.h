/* What the check and the machine both know of executables, whose format is that of aotc/vm/file_format.py and
 * aotc/vm/instructions.py; for aotc_vm*.c alone. */
#ifndef AOTC_VM_FORMAT_H_
#define AOTC_VM_FORMAT_H_

#include "aotc_vm.h"

#define VERSION 2

enum { kCall = 1, kRet = 2, kGoto = 3, kIf = 4 };
enum { kRegister = 0, kConstant = 1, kImmediate = 2, kState = 3, kLong = 4 };
enum { kTensor = 0, kDType = 1, kPlace = 2 };

#define VOID 0xFFFFu /* the destination of a call whose result nobody wants */
/* What stands for the functions behind names that are none of the executable's: */
#define MACHINE 0xFFFEu /* one that gets the machine, since its name begins with vm. */
#define PACKED 0xFFFFu
#define PAYLOAD 0x1FFFu
#define ALIGNMENT 64u

typedef struct {
  uint8_t magic[6];
  uint16_t version;
  uint32_t checksum; /* of all that follows */
  uint32_t size, functions, names, constants, instructions, extents, words, text, data, workspace, zero;
} Header;

typedef struct {
  uint32_t name, start;
  uint16_t inputs, registers;
} Function;

typedef struct {
  uint8_t kind, code, bits, ndim;
  uint32_t extent, start, bytes;
} Constant;

/* Where everything is. */
typedef struct {
  const Header *header;
  const Function *functions;
  const uint32_t *names;
  const Constant *constants;
  const uint32_t *offsets;
  const int64_t *extents;
  const uint16_t *words;
  const char *text;
  const uint8_t *data;
} Tables;

/* Whether a header begins as that of an executable does, of this version. */
int AOTCVM_IsOurs(const Header *header);

/* Where the tables of an executable are, whose header is right. */
void AOTCVM_Locate(Tables *t, const void *executable);

int AOTCVM_SameText(const char *a, const char *b);

/* The function of the executable that has the name of number `name`; PACKED where none has. */
uint32_t AOTCVM_OwnFunction(const Tables *t, uint32_t name);

/* What a jump adds to the number of its instruction, modulo 2^32. */
static inline uint32_t Distance(const uint16_t *words) { return (uint32_t)words[0] | (uint32_t)words[1] << 16; }

#endif /* AOTC_VM_FORMAT_H_ */
